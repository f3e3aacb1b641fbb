"""How much of a step is communication: measured where ranks add gradients up, and else absent, with the reason."""

import gc
import json
import time
from statistics import median
from weakref import ref

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from clusterwright.onhost.supervisor.goodput import advice, communication, history
from clusterwright.runtime import backward, exposed

pytestmark = pytest.mark.train


@pytest.fixture
def talked(train):
    """`talked(name, WIDTH=1500)`: what a run of two ranks says of its communication, and the run."""

    def run(name, ranks=2, **more):
        done = train(ranks=ranks, script="talking", name=name, **more)
        assert done.codes == [0] * ranks, done.log
        events = history.read(str(done.folder)).events
        return communication.combine_generations(events), events

    return run


def test_large_gradients_and_little_computing_are_mostly_communication(talked):
    """Nine megabytes of them against some bytes, beside the same computing; and of the large ones it is said."""
    large, events = talked("large", WIDTH=1500)
    small, _ = talked("small")

    assert large.basis == "measured"
    assert large.share > small.share > 0
    assert any(each.startswith("communication: ") for each in advice.list_advice(events, {}))


def test_who_waits_for_a_slow_rank_does_not_communicate(talked):
    """Rank 1 computes for 50 ms more, and rank 0 waits for it in each step: far less than that is counted."""
    found, _ = talked("late", LATE=0.05)

    assert found.share * found.busy_s / found.steps < 0.025


def test_a_weight_whose_gradient_comes_early_is_not_taken_for_the_last(talked):
    """The first one registered is there 20 ms before the others are: these are computing."""
    found, _ = talked("head", HEAD=1)

    assert found.share * found.busy_s / found.steps < 0.01


def test_gradients_that_are_added_up_first_travel_less(talked):
    """Four pieces of each step, and one exchange instead of four."""
    each, _ = talked("each", WIDTH=1500, PIECES=4, SYNC=1, UNTIL=20)
    once, _ = talked("once", WIDTH=1500, PIECES=4, UNTIL=20)

    assert once.share < each.share


def test_torchs_own_timers_say_the_same(train):
    """Ours begin a little before and end a little after; and the rank that is late waits less than the other."""
    done = train(ranks=2, script="agreeing")
    assert done.codes == [0, 0], done.log
    waits, late = (json.loads((done.folder / f"agreeing-{rank}").read_text())[1:] for rank in range(2))
    ours_s, theirs_s = (sum(pair[which] for pair in waits) for which in (0, 1))

    assert len(waits) > 5
    assert all(ours > theirs - 1e-4 for ours, theirs in [*waits, *late])
    assert ours_s < 1.5 * theirs_s
    assert sum(ours for ours, _ in late) < ours_s


@pytest.mark.parametrize(
    ("ranks", "wrapped", "known"), [(1, "none", "alone"), (2, "none", "other"), (2, "fsdp", "sharded")]
)
def test_what_is_not_measured_is_absent_with_the_reason(talked, ranks, wrapped, known):
    """And never zero."""
    found, events = talked(wrapped, ranks=ranks, WRAPPED=wrapped, UNTIL=12)

    assert found is None
    assert communication.status(events) == known
    assert not [event for event in events if "communicated" in event]


def test_ranks_that_part_communicate_where_they_meet(talked):
    """Outer steps each five steps: no gradient travels between them, and it is measured all the same."""
    found, events = talked(
        "outer", WIDTH=1500, UNTIL=20, CLUSTERWRIGHT_OUTER='{"every": 5, "lr": 0.7, "momentum": 0.9}'
    )

    assert communication.status(events) == "measured"
    assert found.share > 0


class Counted:
    """A clock of which a test says what it shows."""

    def __init__(self):
        self.seconds = []

    def ready(self):
        """Nobody looks."""

    def complete(self):
        """Nobody looks."""

    def ended(self):
        """What was put there."""
        found, self.seconds = self.seconds, []
        return found


def wrapped(ranks):
    """As many, each with a model of its own in DistributedDataParallel."""
    found = [exposed.Exposed(ranks, Counted()) for _ in range(ranks)]
    for each in found:
        each._passes = [backward.Backward(nn.Linear(2, 2), each.ready, each.complete)]
    return found


def voted(ranks, busy_s):
    """They vote after a step, and hear."""
    words = [each.vote_fields(busy_s) for each in ranks]
    agreed = {name: max(word[name] for word in words) for name in words[0]}
    for each in ranks:
        each.apply_vote(agreed)
    return ranks[0].event_fields()


def test_the_least_wait_of_all_ranks_counts():
    """20 ms, 5 ms and 30 ms, in each of four steps between two votes."""
    ranks = wrapped(3)
    for _ in range(4):
        for each, seconds in zip(ranks, (0.02, 0.005, 0.03), strict=True):
            each._clock.seconds = [seconds]
            each.stepped()

    assert voted(ranks, 1.0) == {"communicated": pytest.approx(0.02), "communicated_of": 1.0}
    assert ranks[0].event_fields() == {}


def test_a_gpu_that_is_behind_is_taken_to_go_on_as_it_did():
    """Of steps that are not known at a vote, the mean of those before stands."""
    ranks = wrapped(2)
    sums = []
    for seconds in ([0.01], [], [0.01, 0.01]):
        for each in ranks:
            each._clock.seconds = list(seconds)
            each.stepped()
        sums.append(voted(ranks, 1.0)["communicated"])

    assert sums == [pytest.approx(0.01), pytest.approx(0.02), pytest.approx(0.03)]


def test_a_gradient_that_comes_no_more_is_replaced():
    """Its weight is frozen: in the step after one without it, all are looked at again, and then one."""
    model, moments = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), []
    found = backward.Backward(model, lambda: moments.append("ready"), lambda: moments.append("done"))

    def step():
        moments.clear()
        model(torch.ones(1, 2)).sum().backward()
        found.stepped()
        return list(moments)

    assert step() == ["ready"] * 4 + ["done"]
    assert step() == ["ready", "done"]
    for each in model[0].parameters():
        each.requires_grad_(False)
    assert step() == []
    assert step() == ["ready"] * 2 + ["done"]
    assert step() == ["ready", "done"]


def test_a_compiled_backward_pass_is_left_alone():
    """Torch's compiled autograd cannot be asked for the pass's end: the training goes on, and nothing is said of it."""
    one = exposed.Exposed(2, exposed.Processor())
    model = nn.Linear(4, 1)
    one._passes = [backward.Backward(model, one.ready, one.complete)]
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
        model(torch.ones(2, 4)).sum().backward()
    one.stepped()
    one.apply_vote(one.vote_fields(1.0))

    assert model.weight.grad is not None
    assert one.event_fields() == {}
    torch._dynamo.reset()


def test_a_hook_that_is_called_outside_a_pass_ends_nothing():
    """By whoever walks over hooks; the next pass is measured."""
    model, moments = nn.Linear(2, 2), []
    found = backward.Backward(model, lambda: None, lambda: moments.append("done"))
    found._gradient(model.weight)
    found.stepped()
    model(torch.ones(1, 2)).sum().backward()

    assert moments == ["done"]


def test_steps_that_nobody_measured_are_in_neither_sum():
    """Two steps of 10 ms that are known to one rank alone, around one that nobody knows."""
    ranks = wrapped(2)
    sums = []
    for known, busy_s in (([], 5.0), ([0.01], 6.0), ([0.01], 7.0)):
        ranks[0]._clock.seconds = list(known)
        for each in ranks:
            each.stepped()
        sums.append(voted(ranks, busy_s))

    assert sums[0] == {}
    assert sums[-1] == {"communicated": pytest.approx(0.02), "communicated_of": pytest.approx(2.0)}


def test_pace_is_told_of_the_same_moment():
    """A rank's own part ends where it begins to wait."""
    moments = []
    one = exposed.Exposed(2, exposed.Processor(), lambda: moments.append("own part"))
    one._passes = [backward.Backward(nn.Linear(2, 2), one.ready, one.complete)]
    one._passes[0]._gradient(None)

    assert moments == ["own part"]


def test_a_model_that_is_let_go_of_is_gone():
    """Its memory is not ours to keep; and what was watched goes on without it."""
    model = nn.Linear(2, 2)
    found, weight = backward.Backward(model, lambda: None, lambda: None), ref(model.weight)
    for _ in range(2):
        model(torch.ones(1, 2)).sum().backward()
        found.stepped()
    del model
    gc.collect()
    found.stepped()

    assert weight() is None


def test_a_backward_pass_that_fails_is_forgotten():
    """The next one is measured."""
    model, moments = nn.Linear(2, 2), []
    found = backward.Backward(model, lambda: None, lambda: moments.append("done"))
    model.weight.register_hook(lambda _: 1 / 0 if not moments else None)

    with pytest.raises(ZeroDivisionError):
        model(torch.ones(1, 2)).sum().backward()
    moments.append("failed")
    found.stepped()
    model(torch.ones(1, 2)).sum().backward()
    assert moments == ["failed", "done"]


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


def test_on_a_gpu_the_time_is_the_streams():
    """Nobody waits for it; of several marks before a pass ends the last counts, and passes of one step add up."""
    clock, found = exposed.CudaStream(Place), []
    Place.gpu[0], Place.at = 0.0, 0.0
    for far in (0.0, 30.0, 200.0):
        for _ in range(2):
            clock.ready()
            clock.ready()
            clock.complete()
        Place.gpu[0] = far
        found.append(clock.ended())

    assert found == [[], [], [0.02] * 3]


def test_what_a_step_pays_for_it():
    """Under 0.1 % of a step of 100 ms by a wide margin: the hook, two calls back and a vote."""
    one = wrapped(1)[0]
    one._world = 8

    def cost():
        begun = time.thread_time()
        for _ in range(200):
            one.ready()
            one.complete()
            one.stepped()
            one.apply_vote(one.vote_fields(1.0))
            one.event_fields()
        return (time.thread_time() - begun) / 200

    assert median(cost() for _ in range(5)) < 1e-4


@pytest.mark.gpu
def test_a_real_gpu_waits_in_its_stream():
    """The time between is that of the work, which the processor does not wait for."""
    clock, square = exposed.clock(torch.device("cuda")), torch.ones(4096, 4096, device="cuda")
    clock.ready()
    for _ in range(20):
        square = (square @ square).clamp(max=1)
    clock.complete()
    torch.cuda.synchronize()

    assert clock.ended()[0] > 1e-3
