"""Many verdicts on one part told as few: everything that is not well, or one for all that is; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from clusterwright.check.verdict import Status, Verdict


def gathered(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """By subject and part; where all is well the first one stands for all."""
    parts: dict[tuple[str, str], list[Verdict]] = {}
    for each in verdicts:
        parts.setdefault((each.subject, each.part), []).append(each)
    for found in parts.values():
        bad = [each for each in found if each.status is not Status.OK]
        more = f"; {len(found) - 1} more as wanted" if len(found) > 1 else ""
        yield from bad or [replace(found[0], saw=f"{found[0].saw}{more}")]
