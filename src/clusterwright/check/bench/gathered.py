"""Many verdicts on one part told as few: everything that is not well, or one for all that is; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


def gathered(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """By subject and part; where all is well the first one stands for all."""
    parts: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        parts.setdefault((verdict.subject, verdict.part), []).append(verdict)
    for group in parts.values():
        bad = [verdict for verdict in group if verdict.status is not Status.OK]
        more = _("; {count} more as expected", count=len(group) - 1) if len(group) > 1 else ""
        yield from bad or [replace(group[0], observed=f"{group[0].observed}{more}")]
