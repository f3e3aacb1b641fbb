"""The rank that all others wait for is named, by itself, and only where there is one."""

import time
from statistics import median
from typing import ClassVar

import pytest

pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.goodput import history, slow
from clusterwright.runtime import pace

pytestmark = pytest.mark.train


def voted(own_s, votes):
    """Paces of as many ranks as there are times, after so many votes; each vote's times are `own_s(vote)`."""
    ranks = len(own_s(0))
    paces = [pace.Pace(rank, ranks) for rank in range(ranks)]
    said = []
    for vote in range(votes):
        for one, seconds in zip(paces, own_s(vote), strict=True):
            one._rank_s = seconds
            one.stepped()
        words = [one.vote_fields() for one in paces]
        assert all(set(each) == set(words[0]) for each in words), "ranks voted on different things"
        agreed = {name: max(each[name] for each in words) for name in words[0]}
        said.append({one.apply_vote(agreed) for one in paces})
    assert all(len(each) == 1 for each in said)
    return paces


def test_the_slow_rank_is_found_by_all_with_how_slow_it_is():
    """1.5 times as long as the middle one."""
    found = [one.slow for one in voted(lambda _: [0.1, 0.1, 0.15, 0.1], 2 * pace.ROW)]

    assert {each.rank for each in found} == {2}
    assert found[0].ratio == pytest.approx(1.5, rel=1e-3)


def test_one_fast_rank_makes_no_other_slow():
    """The others take the same; that one of them is always last says nothing."""
    assert voted(lambda _: [0.1, 0.1, 0.1001, 0.05], 4 * pace.ROW)[0].slow is None


def test_ranks_that_take_turns_are_not_slow():
    """Each is twice as slow in its turn: the mean is the same."""
    turns = voted(lambda vote: [0.2 if vote % 4 == rank else 0.1 for rank in range(4)], 8 * pace.ROW)

    assert turns[0].slow is None


def test_a_rank_that_recovers_is_slow_no_more():
    """After some votes in which nothing was found."""
    healed = voted(lambda vote: [0.1, 0.2 if vote < 2 * pace.ROW else 0.1], 2 * pace.ROW + pace.CALM + 4)

    assert healed[0].slow is None


def test_a_rank_that_degrades_is_reported_as_it_gets_worse():
    """From 1.1 to 3 times as long in 600 votes: the last report is at most a fifth behind, and few are written."""

    class Log:
        rows: ClassVar = []

        def write(self, _kind, **fields):
            self.rows.append(fields)

    one = pace.Pace(1, 2)
    for vote in range(600):
        slow_us, typical_us = round(1e5 * (1.1 + 1.9 * vote / 600)), 100_000
        agreed = {"slow": slow_us * 2 + 1, "quick": -typical_us}
        if one._survey:
            agreed |= {"own0": typical_us, "own1": slow_us}
        if one.apply_vote(agreed):
            one.report(Log(), vote)
    ratios = [row["ratio"] for row in Log.rows]

    assert ratios[0] < 1.2
    assert ratios == sorted(ratios)
    assert ratios[-1] > 2.5
    assert len(ratios) <= 600 / pace.CALM
    assert not any(row.get("over") for row in Log.rows)


@given(st.integers(1, 5), st.data())
def test_all_ranks_always_vote_on_the_same_words(ranks, data):
    """Whatever times they have: a vote on different words would never end."""
    times = st.lists(st.floats(0, 10), min_size=ranks, max_size=ranks)
    rows = data.draw(st.lists(times, min_size=1, max_size=40))

    found = voted(lambda vote: rows[vote], len(rows))
    assert len({one.slow for one in found}) == 1


def test_a_rank_made_slow_is_named_in_its_run(train):
    """Rank 1 of three takes twice as long in steps 10 to 45: named with its host, over at the end of it."""
    slowed = train(ranks=3, script="slowed", SLOWED="1:10:45", UNTIL=120)
    assert slowed.codes == [0, 0, 0], slowed.log
    told = history.read(str(slowed.folder))
    first = slow.find_stragglers(told.events)[0]

    assert (first.rank, first.host) == (1, slowed.events("process_start", rank=1)[0]["host"])
    assert 1.2 < first.ratio < 4
    assert 10 < first.step <= 45
    assert first.end is not None
    assert any("slow: rank 1 on" in line for line in slow.lines(told.events))
    assert "rank 1 is a straggler" in slowed.log


def test_a_rank_that_is_stopped_now_and_then_is_named(train):
    """SIGSTOP half of the time, from outside: nothing in the program knows."""
    slowed = train(ranks=2, script="slowed", SLOWED="0:0:999", BURST=1, UNTIL=100)
    assert slowed.codes == [0, 0], slowed.log
    found = slow.find_stragglers(history.read(str(slowed.folder)).events)

    assert found
    assert found[0].rank == 0


def test_no_bit_of_the_training_changes(train):
    """Weights are the same to the last bit as without the hook (and as on a slow rank, where it writes)."""
    with_it = train(ranks=2, script="slowed", SLOWED="1:0:999", UNTIL=30)
    plain = train(ranks=2, script="slowed", name="plain", WRAPPED="ddp", UNTIL=30)

    assert len(with_it.weights() | plain.weights()) == 1
    assert with_it.losses() == plain.losses()


def test_what_a_step_pays_for_it():
    """Under 0.5 % of a step of 20 ms, which is 0.1 ms: the clocks and the words of each vote."""
    one = pace.Pace(0, 8)

    def cost():
        begun = time.thread_time()
        for _ in range(200):
            one.begin()
            one.fetched()
            one.ready()
            one.stepped()
            one.apply_vote({**one.vote_fields(), "quick": -1})
        return (time.thread_time() - begun) / 200

    assert median(cost() for _ in range(5)) < 1e-4


class Place:
    """What torch.cuda.Event is to a stream, of a GPU that has come as far as `gpu[0]`."""

    gpu, at = [0.0], 0.0

    def record(self):
        """Ten milliseconds of work after the one before."""
        Place.at += 10.0
        self.mine = Place.at

    def query(self):
        """Whether the GPU is there."""
        return Place.gpu[0] >= self.mine

    def elapsed_time(self, other):
        """Milliseconds from here to there."""
        return other.mine - self.mine


def test_on_a_gpu_the_time_is_the_gpu_s():
    """Nobody waits for it: what it has not done yet is counted in a later step, and of pieces the last mark counts."""
    made, own = pace.GpuTimer(Place), []
    Place.gpu[0], Place.at = 0.0, 0.0
    for step in range(3):
        made.begin()
        made.ready()
        made.ready()
        Place.gpu[0] = 30.0 * step
        own.append(made.ended())

    assert own == [[], [0.02], [0.02]]


def test_what_is_never_marked_is_the_processor_s():
    """A model in no DistributedDataParallel has no such moment."""
    one = pace.Pace(0, 2, pace.GpuTimer(Place))
    one.begin()
    one.fetched()
    one.stepped()

    assert one.vote_fields()["quick"] <= 0
    assert one._timer.ended() is None


@pytest.mark.gpu
def test_a_real_gpu_marks_its_stream():
    """The time between is that of the work, which the processor does not wait for."""
    torch = pytest.importorskip("torch")
    made, square = pace.create_timer(torch.device("cuda")), torch.ones(4096, 4096, device="cuda")
    made.begin()
    for _ in range(20):
        square = (square @ square).clamp(max=1)
    made.ready()
    torch.cuda.synchronize()

    assert made.ended()[0] > 1e-3


def test_without_others_nothing_is_said():
    """A run of one rank has nobody who waits."""
    alone = pace.Pace(0, 1)

    assert alone.vote_fields() == {}
    assert not alone.apply_vote({})
