"""The order of samples: the same for any number of ranks, and each once in an epoch."""

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime import data

pytestmark = pytest.mark.train


class Ranks:
    """torch.distributed as it looks from one rank."""

    def __init__(self, rank, ranks):
        self.get_rank, self.get_world_size, self.is_initialized = lambda: rank, lambda: ranks, lambda: True


def step_of(sampler, ranks):
    """The samples of the next step, one list for each rank."""
    real, shares = data.dist, []
    try:
        for rank in range(ranks):
            data.dist = Ranks(rank, ranks)  # a process group of seven ranks is more than this law needs
            shares.append(next(iter(sampler)))
    finally:
        data.dist = real
    return shares


@given(
    size=st.integers(1, 40),
    batch=st.integers(1, 50),
    seed=st.integers(0, 5),
    worlds=st.lists(st.integers(1, 7), min_size=1, max_size=12),
)
def test_epochs_hold_each_sample_once_whatever_the_ranks_were(size, batch, seed, worlds):
    """Each step may be trained by another number of ranks: the order is the same, nothing is lost."""
    trained, state = [], None
    for ranks in worlds:
        sampler = data.Sampler(size, batch=batch, seed=seed)
        if state:
            sampler.load_state_dict(state)
        shares = step_of(sampler, ranks)
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
        trained += [shares[position % ranks][position // ranks] for position in range(batch)]
        sampler.advance()
        state = sampler.state_dict()

    one = data.Sampler(size, batch=batch, seed=seed)
    assert trained == [number for step in islice(iter(one), len(worlds)) for number in step]
    for start in range(0, len(trained) - size + 1, size):
        assert sorted(trained[start : start + size]) == list(range(size))
    assert max(Counter(trained[len(trained) // size * size :]).values(), default=1) == 1


def test_epochs_and_seeds_differ_in_their_order():
    """Shuffled anew each time."""
    orders = {tuple(next(iter(data.Sampler(50, batch=50, seed=seed)))) for seed in range(4)}
    second = data.Sampler(50, batch=50)
    second.advance()

    assert len(orders) == 4
    assert tuple(next(iter(second))) not in orders


def test_without_shuffling_the_order_is_that_of_the_data():
    """Twice around, in steps that do not divide it."""
    sampler = data.Sampler(5, batch=3, shuffle=False)

    assert list(islice(iter(sampler), 3)) == [[0, 1, 2], [3, 4, 0], [1, 2, 3]]


def test_a_loader_that_fetches_ahead_moves_no_position():
    """Two workers have fetched several batches when the first step is done."""
    sampler = data.Sampler(16, batch=4, seed=1)
    expected = list(islice(iter(sampler), 3))
    loader = torch.utils.data.DataLoader(range(16), batch_sampler=sampler, num_workers=0)

    batches = iter(loader)
    assert next(batches).tolist() == expected[0]
    assert next(batches).tolist() == expected[1]
    sampler.advance()
    assert next(iter(sampler)) == expected[1]


@pytest.mark.parametrize("change", [{"size": 9}, {"seed": 2}, {"shuffle": False}])
def test_a_position_in_another_order_is_refused(change):
    """It would repeat some samples and skip others; both sides are said."""
    old = data.Sampler(8, batch=2, seed=1)
    new = data.Sampler(**{"size": 8, "batch": 2, "seed": 1, **change})

    with pytest.raises(ValueError, match=r"the checkpoint has .*, this run has"):
        new.load_state_dict(old.state_dict())


@pytest.mark.parametrize(("size", "batch"), [(0, 1), (1, 0)])
def test_nothing_to_sample_is_refused(size, batch):
    """Zero samples, or zero at a time."""
    with pytest.raises(ValueError, match="at least 1"):
        data.Sampler(size, batch=batch)


@given(
    blocks=st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(any),
    mixed=st.integers(1, 5),
    seed=st.integers(0, 3),
)
def test_by_blocks_each_sample_comes_once_and_few_blocks_are_open(blocks, mixed, seed):
    """In every epoch; what is read between two steps is never further apart than the blocks that are mixed."""
    sampler = data.Sampler(sum(blocks), batch=1, seed=seed, blocks=blocks, mixed=mixed)
    block_of = [block for block, count in enumerate(blocks) for _ in range(count)]
    for epoch in range(2):
        order = [sampler.sample(epoch * sampler.size + place) for place in range(sampler.size)]
        firsts = list(dict.fromkeys(block_of[number] for number in order))
        seen = {block: [p for p, number in enumerate(order) if block_of[number] == block] for block in firsts}
        open_at_once = max(
            sum(places[0] <= place <= places[-1] for places in seen.values()) for place in range(sampler.size)
        )

        assert sorted(order) == [*range(sampler.size)]
        assert open_at_once <= mixed


def test_an_order_by_blocks_is_not_resumed_as_another():
    """A checkpoint from before there were blocks is one of none."""
    plain, blocks = data.Sampler(4, batch=1), data.Sampler(4, batch=1, blocks=(2, 2))
    old = {name: plain.state_dict()[name] for name in ("consumed", "size", "seed", "shuffle")}
    plain.load_state_dict(old)

    with pytest.raises(ValueError, match="the checkpoint has mixed=0, this run has mixed=16"):
        blocks.load_state_dict(old)
    with pytest.raises(ValueError, match="blocks hold 3 samples"):
        data.Sampler(4, batch=1, blocks=(2, 1))


def test_ranks_of_one_replica_get_the_same_samples():
    """Two replicas of two ranks each share the batch in two, whatever the process group says."""
    samplers = [data.Sampler(10, batch=4, shuffle=False, replica=(rank // 2, 2)) for rank in range(4)]

    assert [next(iter(each)) for each in samplers] == [[0, 2], [0, 2], [1, 3], [1, 3]]
