"""Reduce many verdicts on one part to a few: every bad one, or a single OK; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def gathered(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Group verdicts by subject and part; yield the bad ones of each group, or its first one if all are OK."""
    parts: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        parts.setdefault((verdict.subject, verdict.part), []).append(verdict)
    for group in parts.values():
        bad = [verdict for verdict in group if verdict.status is not Status.OK]
        more = _("; {count} more values are as expected", count=len(group) - 1) if len(group) > 1 else ""
        yield from bad or [replace(group[0], observed=f"{group[0].observed}{more}")]
