"""Starting a recipe's ranks, in the way of the runtime's own tests."""

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
def recipe(train, tmp_path):
    """`recipe("llama", "--steps", 4, ranks=2, parallel={"shard": "full"})` runs it, and says how it went."""

    def run(name, *arguments, parallel=None, ranks=1, folder="run", **environment):
        told = {
            "RECIPE": name,
            "ARGUMENTS": json.dumps([str(each) for each in arguments]),
            "CLUSTERWRIGHT_PARALLEL": json.dumps(parallel or {}),
            **environment,
        }
        return train(script=HERE / "recipe", ranks=ranks, name=folder, **told)

    return run


@pytest.fixture
def numbers():
    """The loss of each step, as a number."""
    return lambda trained: {event["step"]: event["loss"] for event in trained.events("step")}


@pytest.fixture
def measured():
    """The last value of a measure."""
    return lambda trained, name: [e["value"] for e in trained.events("measure") if e["name"] == name][-1]
