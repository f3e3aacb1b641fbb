"""The example lab, as benches see it."""

from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def cluster():
    """The example lab: four compute hosts, whose links are held to 1 Gbit/s."""
    return load_cluster(ROOT / "examples/lab/cluster.yaml")
