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
def met(train):
    """`met(ranks=2, **environment)`: what each rank of meeting.py says, all of them having ended well."""

    def run(*, ranks=2, **environment):
        trained = train(script=HERE / "meeting", ranks=ranks, **environment)
        assert trained.codes == [0] * ranks, trained.log
        return [json.loads((trained.folder / f"said-{rank}").read_text()) for rank in range(ranks)]

    return run


@pytest.fixture
def toy(train):
    """`toy(ranks=2, outer={...}, **environment)`: the runtime's own toy, whose ranks meet each so many steps."""

    def run(*, outer=None, **environment):
        told = {"CLUSTERWRIGHT_OUTER": json.dumps(outer)} if outer else {}
        return train(script=HERE.parent / "toy", **told, **environment)

    return run
