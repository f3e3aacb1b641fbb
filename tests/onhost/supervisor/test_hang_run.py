import os
import signal
import time
from pathlib import Path

import pytest

HANGING = Path(__file__).parent / "hanging.py"

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]


@pytest.fixture
def training(local_run):
    """Two hosts with one rank each run a plain torch script; its pace is known."""
    local_run.start(script=HANGING, ranks=1, steps=100_000)
    local_run.until_step(150)
    return local_run


def tell(run, rank, what):
    """The rank does this before its next step."""
    scratch = run.folder / f".{rank}.do"
    scratch.write_text(what)
    scratch.rename(run.folder / f"{rank}.do")


def recovered(run, rank):
    """The verdict, once a new step is done; how soon is measured by bench/resilience/hang.py."""
    hung = run.until(lambda: run.events("rank_hung"))[0]
    last = max(event["step"] for event in run.events("step", generation=1))
    run.until(lambda: [one for one in run.events("step", generation=2) if one["step"] > last])
    assert (hung["rank"], hung["generation"]) == (rank, 1)
    assert run.events("generation_end")[0]["reason"] == "hung"
    return hung


def stacks(run, generation=1):
    """What each rank wrote, by the number of its host."""
    return [path.read_text() for path in sorted((run.folder / "logs" / str(generation)).glob("*/0.stacks"))]


@pytest.mark.parametrize(
    ("what", "where"), [("sleep", "in sleep"), ("spin", "in spin"), ("regex", "in regex")]
)
def test_a_rank_that_hangs_is_replaced(training, what, where):
    """The verdict names it and its line; all ranks leave their stacks; the training goes on."""
    tell(training, 1, what)
    hung = recovered(training, 1)

    assert "hanging.py:" in hung["message"]
    assert where in stacks(training)[1]
    assert "in main" in stacks(training)[0]
    assert training.finish() == 0


def test_a_stopped_rank_is_replaced_and_leaves_its_stack(training):
    """It is proven, so that the limits stay as they are."""
    pid = training.events("resumed", rank=0)[0]["pid"]
    os.kill(pid, signal.SIGSTOP)
    hung = recovered(training, 0)

    assert hung["message"] == "stopped by a signal (state T)"
    assert all("in main" in text for text in stacks(training)), stacks(training)
    assert training.finish() == 0


def test_ranks_that_pause_and_ranks_that_work_are_let_be(training):
    """All stand still for eight seconds; then one computes for five while the other waits for it."""
    for rank in (0, 1):
        tell(training, rank, "pause 8")
    training.until(lambda: len(training.events("told")) == 2)
    time.sleep(8)
    before = len(training.events("step"))
    training.until(lambda: len(training.events("step")) > before + 20)
    tell(training, 0, "work 5")
    training.until(lambda: training.events("told", what="work"))
    time.sleep(5)
    before = len(training.events("step"))
    training.until(lambda: len(training.events("step")) > before + 20)

    assert training.events("rank_hung") == []
    assert len(training.events("generation_start")) == 1
    assert training.finish() == 0
