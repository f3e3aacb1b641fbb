"""One round trip: what the answer of a host becomes."""

import json

import pytest

from clusterwright.edge.fakes import FakeClock
from clusterwright.edge.processes import CommandResult
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.work import read_answer, stamp

FACTS = {"interrupted": False, "job_steps": 0, "reached_at": ""}


def answer(facts=(), **other):
    """A host's words."""
    whole = {"facts": FACTS | dict(facts), "changes": [], "notes": [], "error": "", "stale": False} | other
    return CommandResult((), 0, f"{ANSWER}{json.dumps(whole)}\n", "", 1.0)


@pytest.mark.parametrize(
    ("done", "blame"),
    [
        (CommandResult((), 255, "", "ssh: connect to host a: timed out", 1.0), "host"),
        (CommandResult((), 124, "", "", 60.0), "host"),
        (CommandResult((), 1, "", "python3 is older than 3.6 here: 3.5.2", 0.1), "host"),
        (CommandResult((), 1, "", "Traceback (most recent call last):\n  ...\nKeyError: 'x'", 0.1), "change"),
        (answer(error="slurmd.service is failed", fault_domain="change"), "change"),
        (answer(error="the disk is full", fault_domain="host"), "host"),
        (answer(stale=True), "host"),
        (answer(), ""),
    ],
)
def test_an_error_says_whose_fault_it_is(done, blame):
    """Our own program's failure would be the same on every host."""
    assert read_answer("a", done).fault_domain == blame


@pytest.mark.parametrize(
    ("now", "off"), [(1000.0, 0.0), (1003.0, 0.0), (1605.0, 600.0), (400.0, -600.0), (None, 0.0)]
)
def test_a_clock_is_off_by_what_the_way_cannot_explain(now, off):
    """The answer was under way for some of the time between our two looks at our own clock."""
    facts = {} if now is None else {"now": now}

    assert read_answer("a", answer(facts), 1000.0, 1005.0).clock_off_s == off


def test_names_of_applies_sort_by_time():
    """In UTC, so that a summer time changes no order."""
    assert stamp(FakeClock(1_700_000_000)) == "20231114-221320"
    assert stamp(FakeClock(1_700_000_001)) > stamp(FakeClock(1_700_000_000))
