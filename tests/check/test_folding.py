"""Verdicts told together."""

from clusterwright.check.folding import counts, folded
from clusterwright.check.verdict import Status, Verdict


def verdict(subject, status=Status.OK, saw="x"):
    """One verdict of one check."""
    return Verdict(subject, "c", status, saw)


def test_equal_verdicts_are_one_over_a_hostlist():
    """Four hosts that say the same take one line; one that differs has its own."""
    found = folded([*(verdict(f"n{n}") for n in range(1, 5)), verdict("n5", saw="y")])

    assert [(v.subject, v.observed) for v in found] == [("n[1-4]", "x"), ("n5", "y")]


def test_the_worst_comes_first():
    """Fail, unknown, warn, skipped, ok."""
    found = folded([verdict("n1", status) for status in Status])

    assert [v.status.value for v in found] == ["fail", "unknown", "warn", "skipped", "ok"]


def test_every_status_is_counted_also_when_there_is_none():
    """A reader of the JSON finds all five."""
    assert counts([verdict("n1"), verdict("n2", Status.FAIL)]) == {
        "ok": 1, "warn": 0, "fail": 1, "unknown": 0, "skipped": 0,
    }  # fmt: skip
