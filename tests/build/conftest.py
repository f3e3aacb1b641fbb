"""The example cluster, altered where a test needs another, and what roles are given."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.build.resources import Given
from clusterwright.spec.load import load_cluster

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


@pytest.fixture
def cluster():
    """The five hosts of examples/lab."""
    return load_cluster(LAB)


@pytest.fixture
def altered(tmp_path):
    """The same file with other values, by dotted path; None takes one out."""

    def load(changes):
        yaml = YAML()
        document = yaml.load(LAB)
        for path, value in changes.items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place.setdefault(part, {})
            if value is None:
                del place[last]
            else:
                place[last] = value
        yaml.dump(document, tmp_path / "cluster.yaml")
        return load_cluster(tmp_path / "cluster.yaml")

    return load


@pytest.fixture
def real(altered):
    """The same hosts without the lab section: a production file."""
    return altered({"lab": None})


@pytest.fixture
def given():
    """A key that is no key, and one file of ours."""
    return Given(
        "cluster.yaml", {"munge.key": bytes(range(256)) * 4}, {"clusterwright/__init__.py": "VALUE = 1\n"}
    )
