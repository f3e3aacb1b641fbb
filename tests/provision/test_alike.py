"""Roles that are asked once for a whole group."""

from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.provision.resources import RoleContext
from clusterwright.provision.roles import roles

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["lab", "university", "a100", "hgx"])
def test_a_role_asked_once_answers_for_every_host(name, given):
    """What it would have said of each host, asked about it alone."""
    cluster = load_cluster(EXAMPLES / name / "cluster.yaml")
    asked_once = {word: role for word, role in roles().items() if hasattr(role, "__wrapped__")}

    assert len(asked_once) > 5
    for host in cluster.hosts():
        for word, role in asked_once.items():
            assert role(cluster, host, given) == role.__wrapped__(cluster, host, given), (word, host.name)


def test_another_key_is_another_answer(cluster, given):
    """An answer is kept for what was given with the question."""
    munge, host = roles()["munge"], cluster.host("gpu-node1")
    other = RoleContext(dict(given.secrets) | {"munge.key": b"x" * 1024}, given.payload)

    assert munge(cluster, host, given) != munge(cluster, host, other)
    assert munge(cluster, host, given) == munge(cluster, cluster.host("gpu-node2"), given)
