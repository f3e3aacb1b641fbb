"""Weights sharded over the run's mesh by torch's fully_shard: killed, resumed, and on other numbers of ranks."""

import pytest

pytest.importorskip("torch")

from clusterwright.runtime import codes

pytestmark = pytest.mark.train


def numbers(trained):
    """The loss of each step."""
    return {event["step"]: event["loss"] for event in trained.events("step")}


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_killed_sharded_training_resumes_bit_for_bit(train, ranks):
    """Two shards, and two replicas of them; dropout, layers computed again, moments and all."""
    how = {"ranks": ranks, "script": "sharded", "TOY_DROPOUT": 0.3}
    undisturbed = train(name="undisturbed", **how)
    train(TOY_KILL="1:6", **how)

    resumed = train(**how)
    assert undisturbed.codes == resumed.codes == [0] * ranks, resumed.log
    assert resumed.losses() == undisturbed.losses()
    assert [event["step"] for event in resumed.events("resumed")] == [4]


@pytest.mark.parametrize(("before", "after", "group"), [(4, 2, 2), (2, 4, 4), (4, 1, 1)])
def test_it_goes_on_with_another_number_of_ranks(train, before, after, group):
    """Fewer replicas; more shards; none at all: the losses are the same to rounding."""
    undisturbed = train(name="undisturbed", script="sharded")
    train(script="sharded", ranks=before, TOY_KILL="1:6")

    resumed = train(script="sharded", ranks=after, TOY_GROUP=group)
    assert resumed.codes == [0] * after, resumed.log
    assert numbers(resumed) == pytest.approx(numbers(undisturbed), rel=1e-4)
    assert [event["step"] for event in resumed.events("resumed")] == [4]


def test_replicas_of_a_shard_are_compared(train):
    """A flipped bit in rank 3's shard differs from rank 1's, its replica; the other shard is not suspected."""
    found = train(script="sharded", ranks=4, TOY_FLIP="3:5", TOY_VERIFY=1)

    assert found.codes == [codes.MACHINE] * 4, found.log
    assert [(e["step"], e["ranks"], e["sure"]) for e in found.events("corrupt")] == [(5, [1, 3], False)]
