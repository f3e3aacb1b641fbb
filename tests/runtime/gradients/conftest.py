"""Starting ranks, in the way of the runtime's own tests."""

import importlib.util
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("ranks_of_the_runtime", HERE.parent / "conftest.py")
_ranks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_ranks)
nursery, train = _ranks.nursery, _ranks.train


@pytest.fixture
def added(train):
    """`added(ranks=2, **environment)`: what each rank of adding.py says, all of them having ended well."""

    def run(*, ranks=2, **environment):
        trained = train(script=HERE / "adding", ranks=ranks, **environment)
        assert trained.codes == [0] * ranks, trained.log
        return [json.loads((trained.folder / f"said-{rank}").read_text()) for rank in range(ranks)]

    return run
