"""Evaluations in trainings of two real ranks."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.services import pause

pytestmark = pytest.mark.train


def test_evaluations_are_timed_and_measures_written_down(train):
    """The mean is over both ranks, rank 0 writes."""
    trained = train(script="evaluating")
    assert trained.codes == [0, 0], trained.log

    paused, measured = trained.events("pause"), trained.events("measure")
    assert [(event["step"], event["name"]) for event in paused] == [
        (step, "evaluation") for step in (3, 6, 9)
    ]
    assert all(event["seconds"] >= 0.1 for event in paused)
    assert [(event["name"], event["value"]) for event in measured] == [
        ("validation", value) for value in (3.5, 6.5, 9.5)
    ]
    assert trained.events("plan")[0]["total_steps"] == 9
    assert {event["tokens"] for event in trained.events("step")} == {48}
    assert not trained.events("pause", rank=1)


def test_the_checkpoint_of_the_best_measure_is_kept_too(train):
    """The lowest is the first: it stays beside the newest two."""
    best = {"CLUSTERWRIGHT_CHECKPOINT_BEST": "validation", "CLUSTERWRIGHT_SAVE_TOTAL_LIMIT": 2}
    trained = train(script="evaluating", TOY_UNTIL=15, CLUSTERWRIGHT_CHECKPOINT_EVERY="steps:3", **best)
    assert trained.codes == [0, 0], trained.log

    kept = [name for name in trained.checkpoints() if name.startswith("step")]
    assert kept == ["step-00000003", "step-00000012", "step-00000015"]


def test_one_rank_may_evaluate_alone(train):
    """The other goes on to its next step and waits for nobody before that."""
    trained = train(script="evaluating", TOY_EVALUATE=0)

    assert trained.codes == [0, 0], trained.log
    assert [event["value"] for event in trained.events("measure")] == [5.0] * 3


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_ends_an_evaluation_on_all_ranks(train, rank):
    """Of ten minutes; whoever was asked, all save and leave, and nothing counts as measured."""
    stopped = train(script="evaluating", TOY_SIGNAL=f"{rank}:3", TOY_BATCHES=12_000)

    assert stopped.codes == [0, 0], stopped.log
    assert stopped.events("stopped")[0]["reason"] == "signal"
    assert not stopped.events("measure")
    assert stopped.checkpoints()[-1] == f"step-{stopped.events('stopped')[0]['step']:08d}"


def test_the_store_is_asked_a_few_times_a_second():
    """Each question is a round trip; a rank's own wish is known at once, and told."""
    asked, told = [], []

    class Store:
        def check(self, keys):
            asked.append(keys)
            return False

        def set(self, key, value):
            told.append(key)

    wish = []
    interruption = pause.Interruption(Store(), lambda: bool(wish))
    assert not any(interruption.check() for _ in range(1000))
    assert len(asked) <= 3

    wish.append(1)
    assert interruption.check()
    assert interruption.check()
    assert len(told) == 1
