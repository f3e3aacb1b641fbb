"""Who holds the same, and who is the odd one out."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime.services import verify

pytestmark = pytest.mark.train


@given(st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_replicas_part_the_ranks_into_groups_of_equal_size(cut):
    """Each rank is in its own group, and all members of a group name the same one."""
    dimensions = dict(zip(["dp_replicate", "dp_shard", "cp", "tp"], cut, strict=True))
    groups = {}
    for rank in range(prod(cut)):
        held = verify.holders([torch.ones(1)], rank, dimensions)
        (ranks,) = held or [(rank,)]
        assert rank in ranks
        assert len(ranks) == cut[0]
        assert groups.setdefault(min(ranks), ranks) == ranks
    assert sorted(rank for ranks in groups.values() for rank in ranks) == list(range(prod(cut)))


@pytest.mark.parametrize(
    ("sums", "found"),
    [
        ({0: 1, 1: 1}, ((), True)),
        ({0: 1, 1: 2}, ((0, 1), False)),
        ({0: 1, 4: 2, 8: 1}, ((4,), True)),
        ({0: 1, 1: 2, 2: 3}, ((0, 1, 2), False)),
        ({0: 1, 1: 1, 2: 2, 3: 2}, ((0, 1, 2, 3), False)),
        ({0: 5, 1: 1, 2: 1, 3: 1, 4: 7}, ((0, 4), True)),
    ],
)
def test_the_majority_says_who_is_wrong(sums, found):
    """More than half of them; else nobody knows."""
    assert verify.odd_replicas(sums) == found
