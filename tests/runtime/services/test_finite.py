"""Losses that are not finite, in trainings of two real ranks."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import codes, group
from clusterwright.runtime.services import finite

pytestmark = pytest.mark.train


def weights(trained, rank):
    """The sum of the weights after each step."""
    lines = (trained.folder / f"weights-by-step-{rank}").read_text().splitlines()
    return {int(step): weights for step, weights in map(str.split, lines)}


def test_stop_ends_all_ranks_before_the_weights_are_spoilt(train):
    """With the code that means: not retryable. The event names step and rank, once."""
    stopped = train(script="guarded", TOY_NAN="1:5", CLUSTERWRIGHT_CHECKPOINT_EVERY="steps:1")

    assert stopped.codes == [codes.DATA] * 2, stopped.log
    (event,) = stopped.events("nan")
    assert (event["step"], event["ranks"], event["quantity"], event["action"]) == (5, [1], "the loss", "stop")
    assert event["values"] == ["nan"]
    assert "the loss is nan on rank 1 in step 5" in stopped.log
    assert stopped.checkpoints()[-1] == "step-00000004"
    assert not (stopped.folder / "finished.json").exists()


def test_skip_drops_the_update_on_all_ranks_and_the_step_counts(train):
    """The weights after step 5 are those after step 4, and those of both ranks stay equal to the end."""
    skipped = train(script="guarded", TOY_NAN="1:5", TOY_ON_NAN="skip")
    assert skipped.codes == [0, 0], skipped.log

    mine, other = weights(skipped, 0), weights(skipped, 1)
    assert mine == other
    assert mine[5] == mine[4]
    assert len(set(mine.values())) == len(mine) - 1
    assert [event["step"] for event in skipped.events("nan")] == [5]
    assert [event["step"] for event in skipped.events("step")] == list(range(1, 9))


def test_skipping_does_not_go_on_for_ever(train):
    """Eleven such steps in a row are no accident."""
    stopped = train(script="guarded", TOY_NAN="0:3", TOY_NANS="99", TOY_ON_NAN="skip", TOY_UNTIL=40)

    assert stopped.codes == [codes.DATA] * 2, stopped.log
    assert [event["step"] for event in stopped.events("nan")] == list(range(3, 14))
    assert stopped.events("nan")[-1]["action"] == "stop"


def test_a_loop_that_does_not_look_is_stopped_a_step_later_and_saves_nothing_spoilt(train):
    """Its weights have taken the loss in, so nothing is left but the checkpoint before."""
    stopped = train(script="guarded", TOY_NAN="1:6", TOY_LOOK="0", CLUSTERWRIGHT_CHECKPOINT_EVERY="steps:2")

    assert stopped.codes == [codes.DATA] * 2, stopped.log
    assert stopped.events("nan")[0]["step"] == 6
    assert stopped.checkpoints()[-1] == "step-00000004"


def test_between_two_saves_it_is_stopped_by_the_vote(train):
    """Nobody waits for a save that is far away."""
    stopped = train(
        script="guarded",
        TOY_NAN="1:3",
        TOY_LOOK="0",
        TOY_UNTIL=400,
        CLUSTERWRIGHT_CHECKPOINT_EVERY="steps:300",
    )

    assert stopped.codes == [codes.DATA] * 2, stopped.log
    assert stopped.events("step")[-1]["step"] <= 5


def test_ignore_goes_on(train):
    """Whoever says so knows why."""
    trained = train(script="guarded", TOY_NAN="1:5", TOY_ON_NAN="ignore")

    assert trained.codes == [0, 0], trained.log
    assert not trained.events("nan")
    assert "nan" in trained.losses()[6]


def test_the_norm_of_the_gradients_counts_too(tmp_path):
    """An infinite norm over a finite loss, on one rank."""
    alone = group.join({})
    try:
        look = finite.Finite(alone, None, "stop")
        found = look.check(7, 1.0, float("inf"))

        assert found == finite.NonFinite(7, "the norm of the gradients", (0,), ("inf",))
        assert look.check(8, 1.0, 2.0) is None
    finally:
        alone.destroy()


def test_another_policy_is_refused():
    """And the right ones are named."""
    with pytest.raises(ValueError, match="on_nan=never: must be one of stop, skip, ignore"):
        finite.Finite(None, None, "never")
