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
    whole = {
        "facts": FACTS | dict(facts) if facts != 3 else 3,
        "changes": [],
        "notes": [],
        "error": "",
        "stale": False,
    } | other
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


CHANGE = {"id": "file:/a", "summary": "s", "diff": "", "cost": "live", "verbs": [], "applied": False}
NESTED = "[" * 200_000


@pytest.mark.parametrize(
    "done",
    [
        *(
            CommandResult((), 0, ANSWER + text, "", 1.0)
            for text in (NESTED, "{}", "[]", "1", "no JSON", '{"facts": 1}')
        ),
        answer(facts=3),
        answer(changes=[{}]),
        answer(changes=[CHANGE | {"cost": "free"}]),
        answer(changes=[CHANGE | {"summary": ["s"]}]),
        answer(changes=[CHANGE | {"id": 7}]),
        answer(changes=[CHANGE | {"diff": None}]),
        answer(notes=[{}]),
        answer(notes="text"),
        answer(error={"a": 1}),
        answer(facts={"job_steps": "x"}),
        answer(facts={"job_steps": float("inf")}),
        answer(facts={"now": "x"}),
        answer(facts={"now": float("nan")}),
        answer(facts={"reached_at": 5}),
        answer(facts={"owes": [[]]}),
        answer(timings=[1]),
        answer(timings={"a": "x"}),
        answer(unavailable=[1]),
        answer(unavailable={"a": []}),
        answer(applies=[{"when": []}]),
    ],
)
def test_a_malformed_answer_fails_only_its_host(done):
    """Root of the host chooses these words; an exception here would end the apply of all other hosts."""
    report = read_answer("a", done, 1000.0, 1002.0)

    assert "malformed" in report.error
    assert report.fault_domain == "host"


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
