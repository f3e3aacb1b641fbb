"""What a ledger says of a run."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.goodput import figures
from clusterwright.onhost.supervisor.goodput.history import History
from clusterwright.onhost.supervisor.goodput.timeline import SECOND


def events(*lines):
    """Written as (seconds, kind, generation, fields)."""
    return [{"time": time, "event": kind, "generation": number, **more} for time, kind, number, more in lines]


TWICE = events(
    (0, "job_start", 0, {"job_id": "1", "hosts": ["a", "b"], "ranks": 1}),
    (0, "generation_start", 1, {"hosts": ["a", "b"]}),
    (10, "step", 1, {"rank": 0, "step": 1, "seconds": 10}),
    (20, "step", 1, {"rank": 0, "step": 2, "seconds": 10}),
    (22, "rank_exit", 1, {"rank": 1, "code": -9, "host": "b", "step": 2}),
    (23, "generation_end", 1, {"reason": "ranks-failed"}),
    (24, "generation_start", 2, {"hosts": ["a", "b"]}),
    (35, "step", 2, {"rank": 0, "step": 2, "seconds": 10}),
    (36, "host_lost", 2, {"lost_host": "b", "heartbeat_age_s": 1}),
    (36, "generation_end", 2, {"reason": "host-lost"}),
    (37, "generation_start", 3, {"hosts": ["a"]}),
    (50, "step", 3, {"rank": 0, "step": 3, "seconds": 10}),
    (50, "generation_end", 3, {"reason": "finished"}),
    (50, "job_end", 3, {"outcome": "finished"}),
)


def test_failures_and_how_long_they_took():
    """From the fault to the first step that had never been done: a step that is done again is no progress."""
    killed, lost = figures.work_out(History(TWICE)).failures

    assert (killed.reason, killed.at / SECOND, killed.recovered / SECOND) == ("ranks-failed", 22, 28)
    assert killed.first_failure == "rank 1 (b, local 0) was killed by SIGKILL at step 2"
    assert (lost.reason, lost.recovered / SECOND, lost.first_failure) == (
        "host-lost",
        15,
        "host b was lost, no message for 1 s",
    )


def test_means_and_ratios():
    """ETTR is of the time since the submission, goodput of the GPU time that was held."""
    found = figures.work_out(History(TWICE, submitted=-10.0))

    assert found.ettr == pytest.approx(30 / 60)
    assert found.goodput == pytest.approx((20 + 20 + 10) / 100)
    assert (found.mttr / SECOND, found.mttf / SECOND) == (21.5, 25)
    assert found.by_kind == {"ranks-failed": 1, "host-lost": 1}


def test_a_fault_that_led_nowhere_has_no_recovery():
    """It counts as a failure, and not in the mean time to recovery."""
    (killed,) = figures.work_out(History(TWICE[:6])).failures

    assert killed.recovered is None
    assert figures.work_out(History(TWICE[:6])).mttr is None


def test_what_is_not_known_is_null():
    """A run without failures, checkpoints or a price."""
    said = figures.document(figures.work_out(History(TWICE[:4])))

    assert [said[name] for name in ("mttr_s", "mttf_s", "cost", "price")] == [None] * 4
    assert set(said["checkpoint"].values()) == {None}
    assert figures.document(figures.work_out(History([])))["ettr"] is None


def test_gpu_hours_cost_what_they_cost():
    """Those that were held; hours in the queue are free."""
    price = {"amount": 36.0, "currency": "USD"}

    assert figures.work_out(History(TWICE, submitted=-10.0, price=price)).cost == pytest.approx(1.0)


def checkpointed(stall, apart, count, failures):
    """A run with so many checkpoints, then failures."""
    found = figures.Figures(figures.Accounting(allocated=int(3600 * SECOND)), [
        figures.Failure("ranks-failed", 1, 0, 0) for _ in range(failures)
    ])  # fmt: skip
    lines = [(apart * place, "checkpoint", 1, {"seconds": 99}) for place in range(count)]
    lines += [(apart * place, "checkpoint_staged", 1, {"seconds": stall}) for place in range(count)]
    found.stall, found.interval = figures._checkpoints(events(*lines))
    return found


def test_the_best_interval_is_youngs():
    """Measured stall and MTTF: the square root of 2 x 0.5 s x 1200 s; a write behind the training costs nothing."""
    found = checkpointed(0.5, 600, 4, 3)

    assert (found.stall / SECOND, found.interval / SECOND) == (0.5, 600)
    assert found.best_interval / SECOND == pytest.approx(math.sqrt(1200))
    assert found.interval_costs > figures.WORTH_SAYING


def test_few_failures_and_copies_in_memory_suggest_nothing():
    """Two failures may be chance; and what memory gave back did not depend on a checkpoint."""
    found = checkpointed(0.5, 600, 4, 2)
    assert found.best_interval is None

    found = checkpointed(0.5, 600, 4, 5)
    found.from_memory = True
    assert found.best_interval is None
    assert found.interval_costs == 0


@given(st.floats(0.01, 60), st.integers(1, 7200), st.integers(1, 20))
def test_no_interval_is_better_than_the_best(stall, apart, failures):
    """What a change would save is never less than nothing."""
    assert checkpointed(stall, apart, 3, failures).interval_costs >= -1e-9
