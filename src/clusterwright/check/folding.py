"""Verdicts grouped for output: equal ones folded into one over their hosts, the worst first; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.names import fold

WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.WARN, Status.SKIPPED, Status.OK)


def counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Count the verdicts of each status; statuses without verdicts are 0."""
    statuses = [verdict.status for verdict in verdicts]
    return {status.value: statuses.count(status) for status in Status}


def folded(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Merge verdicts that differ in the subject only; the subject becomes a hostlist, the worst status comes first."""
    subjects: dict[Verdict, list[str]] = {}
    for verdict in verdicts:
        subjects.setdefault(replace(verdict, subject=""), []).append(verdict.subject)
    merged = [replace(verdict, subject=fold(hosts)) for verdict, hosts in subjects.items()]
    return sorted(merged, key=lambda verdict: WORST_FIRST.index(verdict.status))
