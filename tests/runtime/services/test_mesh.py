"""Ranks in groups."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime import group
from clusterwright.runtime.services import services

pytestmark = pytest.mark.train
SIZES = st.integers(1, 5)


@given(SIZES, SIZES, SIZES, SIZES, SIZES, st.booleans())
def test_the_dimensions_multiply_to_the_world_size(tensor, pipeline, context, replicas, shard, given_data):
    """Whatever the groups, and whether the number of replicas is given or worked out."""
    world = tensor * pipeline * context * replicas * shard
    parallel = {
        "tensor": tensor,
        "pipeline": pipeline,
        "context": context,
        "shard": "full",
        "shard_group": shard,
    }
    found = services.sizes({**parallel, "data": replicas * shard if given_data else None}, world)

    assert prod(found.values()) == world
    assert (found["dp_replicate"], found["dp_shard"], found["tp"]) == (replicas, shard, tensor)
    assert list(found) == ["pp"] * (pipeline > 1) + ["dp_replicate", "dp_shard", "cp", "tp"]


def test_without_a_word_all_ranks_are_replicas():
    """As with DistributedDataParallel."""
    assert services.sizes({}, 6) == {"dp_replicate": 6, "dp_shard": 1, "cp": 1, "tp": 1}


def test_with_shards_and_no_group_all_replicas_share():
    """As with fully_shard over everything."""
    assert services.sizes({"shard": "optimizer"}, 6)["dp_shard"] == 6


def test_fewer_ranks_make_fewer_replicas():
    """An elastic job names no number of replicas."""
    cut = {"tensor": 2, "data": None}

    assert [services.sizes(cut, world)["dp_replicate"] for world in (8, 6, 2)] == [4, 3, 1]


@pytest.mark.parametrize(
    ("parallel", "world", "said"),
    [
        (
            {"tensor": 3},
            8,
            "tensor 3 x pipeline 1 x context 1: 3 ranks per replica do not divide 8 ranks",
        ),
        (
            {"tensor": 2, "data": 3},
            8,
            "tensor 2 x pipeline 1 x context 1 x data 3 is 6, but the job has 8 ranks",
        ),
        ({"shard": "full", "shard_group": 4}, 6, "shard_group 4 does not divide data 6"),
    ],
)
def test_what_does_not_multiply_is_refused_with_both_sides(parallel, world, said):
    """Before any group is made."""
    with pytest.raises(ValueError, match=said):
        services.sizes(parallel, world)


def test_it_becomes_torchs_mesh():
    """With names to take dimensions by."""
    alone = group.join({})
    try:
        made = services.make("cpu", services.sizes({"shard": "full"}, 1))

        assert made.mesh_dim_names == ("dp_replicate", "dp_shard", "cp", "tp")
        assert made["dp_shard"].size() == 1
    finally:
        alone.destroy()
