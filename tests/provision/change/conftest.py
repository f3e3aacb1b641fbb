"""A cluster file as text, read, and altered."""

from pathlib import Path

import pytest

from clusterwright.config.reader import read
from clusterwright.provision.change.fields import ClusterFile

LAB = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"


@pytest.fixture
def text():
    """The file of examples/lab, with its comments."""
    return LAB.read_text()


@pytest.fixture
def said():
    """What a text says."""

    def of(text):
        return ClusterFile.from_source(read(text, "cluster.yaml"))

    return of
