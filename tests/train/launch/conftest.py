from pathlib import Path

import pytest

from clusterwright.spec.job import Job
from clusterwright.spec.load import load_cluster

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def cluster():
    """The lab of the examples."""
    return load_cluster(ROOT / "examples" / "lab" / "cluster.yaml")


@pytest.fixture(scope="session")
def a_job():
    """A job with the fields that a test cares about."""

    def make(**fields):
        return Job.model_validate({"name": "gpt", "recipe": "gpt", "time": "30m", **fields}, strict=False)

    return make
