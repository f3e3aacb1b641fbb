"""Sums inside hosts first, then between them, against those of plain DistributedDataParallel."""

import pytest

pytest.importorskip("torch")

from clusterwright.runtime.gradients.hosts import by_host

pytestmark = pytest.mark.train
HIERARCHICAL = {"CLUSTERWRIGHT_GRADIENT_HIERARCHICAL": "1"}


@pytest.mark.parametrize(("ranks", "hosts"), [(2, 1), (2, 2), (4, 2), (4, 3)])
def test_the_mean_is_the_same(added, ranks, hosts):
    """To the last digits, for hosts of one rank, of several, and of different numbers of them."""
    for said in added(ranks=ranks, ADD_HOSTS=hosts, **HIERARCHICAL):
        assert said["alike"]
        assert max(max(off.values()) for off in said["off"]) < 1e-6


def test_16_bits_travel_between_hosts(added):
    """One rounding for each host, which a number of 8 bits shows."""
    for said in added(ranks=4, ADD_HOSTS=2, CLUSTERWRIGHT_GRADIENT_COMPRESS="bf16", **HIERARCHICAL):
        assert said["alike"]
        assert 1e-4 < max(max(off.values()) for off in said["off"]) < 2e-2


def test_ranks_are_those_of_their_hosts():
    """Hosts in the order of their first ranks, wherever the others are."""
    assert by_host([0, 1, 2, 3], ["a", "b", "a", "c"]) == [(0, 2), (1,), (3,)]
