"""Every second of every GPU lies in one bin."""

import re
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.goodput.accounting import BINS, compute_accounting
from clusterwright.onhost.supervisor.goodput.timeline import SECOND


def story(*lines):
    """Events written as (seconds, kind, fields)."""
    return [{"time": time, "event": kind, "generation": 1, **more} for time, kind, more in lines]


START = (
    (10.0, "job_start", {"job_id": "7", "hosts": ["a", "b"], "ranks": 2}),
    (12.0, "generation_start", {"hosts": ["a", "b"]}),
    (13.5, "process_start", {"rank": 0, "started": 12.5}),
    (14.0, "process_start", {"rank": 1, "started": 13.0}),
    (14.5, "group_ready", {"rank": 0, "world_size": 4}),
    (15.0, "group_ready", {"rank": 1, "world_size": 4}),
    (17.0, "step", {"rank": 0, "step": 1, "seconds": 1.0}),
    (19.0, "step", {"rank": 0, "step": 2, "seconds": 1.5}),
)
FAULT = (
    (20.0, "rank_exit", {"rank": 1, "code": -9, "signal": 9}),
    (20.5, "generation_end", {"reason": "ranks-failed"}),
)


def bins(events, **more):
    """Seconds of one GPU's share, where all four GPUs do the same."""
    return {
        name: ticks / SECOND / 4 for name, ticks in compute_accounting(events, **more).bins.items() if ticks
    }


def test_a_story_by_hand():
    """Each border as the page says: the last rank counts, a step begins when it says it began."""
    assert bins(story(*START, *FAULT, (21.0, "job_end", {"outcome": "failed"})), submitted=3.0) == {
        "queue": 7.0, "launch": 3.0, "import": 1.0, "group": 1.0, "load": 1.0, "step": 2.5, "stall": 0.5,
        "lost work": 1.0, "detect": 0.5, "restart": 0.5,
    }  # fmt: skip


def test_steps_done_again_are_lost_the_first_time():
    """Step 2 is done twice: the first attempt was in vain, the second counts."""
    again = (
        (21.0, "generation_start", {"hosts": ["a", "b"], "generation": 2}),
        (22.0, "step", {"rank": 0, "step": 2, "seconds": 0.5, "generation": 2}),
        (22.0, "generation_end", {"reason": "finished", "generation": 2}),
        (22.0, "job_end", {"outcome": "finished", "generation": 2}),
    )
    found = bins(story(*START, *FAULT, *again))

    assert (found["step"], found["lost work"]) == (1.0 + 0.5, 1.5 + 1.0)


def test_a_lost_host_is_away_until_it_is_back():
    """One of three hosts dies and a spare takes over; when it is back, it is the spare."""
    lines = (
        (0.0, "job_start", {"job_id": "7", "hosts": ["a", "b", "c"], "ranks": 1}),
        (0.0, "generation_start", {"hosts": ["a", "b"]}),
        (5.0, "step", {"rank": 0, "step": 1, "seconds": 5.0}),
        (8.0, "host_lost", {"lost_host": "b", "heartbeat_age_s": 2.0}),
        (8.0, "generation_end", {"reason": "host-lost"}),
        (9.0, "generation_start", {"hosts": ["a", "c"], "generation": 2}),
        (12.0, "host_ready", {"ready": "b"}),
        (20.0, "step", {"rank": 0, "step": 2, "seconds": 11.0, "generation": 2}),
        (20.0, "job_end", {"outcome": "finished"}),
    )
    found = {name: ticks / SECOND for name, ticks in compute_accounting(story(*lines)).bins.items() if ticks}

    assert found == {
        "step": 10.0 + 22.0, "lost work": 2.0, "detect": 4.0, "restart": 2.0, "idle": 8.0 + 8.0, "away": 4.0,
    }  # fmt: skip


def test_a_run_that_goes_on_is_counted_until_now():
    """The step under way counts as a step until it turns out not to be."""
    assert bins(story(*START), end_time=19.75)["step"] == 2.5 + 0.75


def test_imports_ahead_are_imports():
    """Until the fork servers are ready no generation can begin; the first of them to start and the last one count."""
    lines = (
        START[0],
        (11.5, "standby", {"seconds": 1.0}),
        (11.8, "standby", {"seconds": 1.0}),
        (11.9, "standby", {"reason": "no memory"}),
        (12.0, "generation_start", {"hosts": ["a", "b"]}),
        (13.0, "job_end", {"outcome": "failed"}),
    )

    assert bins(story(*lines)) == {"launch": pytest.approx(0.7), "import": pytest.approx(1.3), "unknown": 1.0}


def test_what_writes_no_events_is_unknown():
    """A script that says nothing may do anything: no guess is made."""
    lines = (*START[:2], (30.0, "generation_end", {"reason": "finished"}), (30.0, "job_end", {}))

    assert bins(story(*lines)) == {"launch": 2.0, "unknown": 18.0}


def test_another_supervisor_in_the_same_job_ends_a_silence():
    """Nobody wrote the generation's end; from the last step on, the fault was being found."""
    lines = (
        *START,
        (25.0, "job_start", START[0][2]),
        (26.0, "generation_start", {**START[1][2], "generation": 2}),
    )
    found = bins(story(*lines))

    assert (found["detect"], found["restart"]) == (6.0, 1.0)
    assert "queue" not in found


def test_a_supervisor_that_takes_over_inside_the_job_ends_the_generation():
    """The lost host's last sign of life is told by the new one; from the takeover on, it is a restart."""
    lines = (
        *START,
        (24.0, "failover", {"job_id": "7", "number": 2, "lost_host": "a"}),
        (24.01, "host_lost", {"lost_host": "a", "heartbeat_age_s": 3.0}),
        (25.0, "generation_start", {"hosts": ["b"], "generation": 2}),
        (26.0, "job_end", {"outcome": "failed", "generation": 2}),
    )
    found = {name: ticks / SECOND for name, ticks in compute_accounting(story(*lines)).bins.items()}

    assert found["lost work"] == pytest.approx(4 * 2.01)
    assert found["detect"] == pytest.approx(4 * 2.99)
    assert (found["restart"], found["away"]) == (2.0, pytest.approx(2 * 1.99))


def test_a_restart_inside_a_generation_is_seen():
    """As torchrun does it: the ranks start again, and nobody ends the generation."""
    again = (
        (21.0, "process_start", {"rank": 0, "started": 20.0}),
        (21.0, "process_start", {"rank": 1, "started": 20.0}),
        (23.0, "step", {"rank": 0, "step": 2, "seconds": 1.0}),
    )
    found = bins(story(*START, *again))

    assert (found["step"], found["lost work"], found["detect"], found["import"]) == (2.0, 1.5, 1.0, 2.0)


def test_steps_that_were_not_read_are_known_by_the_sum():
    """Of a long run only some lines are read; `busy` holds the time in all steps so far."""
    lines = (
        *START[:6],
        (17.0, "step", {"rank": 0, "step": 1, "seconds": 1.0, "busy": 1.0}),
        (117.0, "step", {"rank": 0, "step": 101, "seconds": 0.5, "busy": 81.0}),
    )

    assert bins(story(*lines))["step"] == 81.0
    assert bins(story(*lines))["stall"] == 20.0


def test_without_a_sum_the_usual_step_stands_for_those_not_read():
    """And the ledger says that it is an estimate."""
    lines = (*START[:6], *START[6:7], (117.0, "step", {"rank": 0, "step": 51, "seconds": 1.0}))
    ledger = compute_accounting(story(*lines))

    assert ledger.bins["stall"] == 4 * 50 * SECOND
    assert ledger.estimated


def test_the_page_has_every_bin():
    """docs/concepts/ledger.md says where each begins and ends, and speaks of no other."""
    page = Path(__file__).parents[4] / "docs" / "concepts" / "ledger.md"
    rows = re.findall(r"^\| `([a-z ]+)` \|", page.read_text(), re.MULTILINE)

    assert sorted(rows) == sorted(BINS)
