"""Replace flight-recorder dumps among the sources by one source with the lines of their comparison."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clusterwright.diagnose.reading.source import LogSource, of_text, reading

if TYPE_CHECKING:
    from clusterwright.diagnose.flight.dump import Dump

# PyTorch's default file names and those of the runtime; the number is the rank.
NAME = re.compile(r"(?:^|/)(?:nccl-|[\w.-]*rank[_-]?)(?P<rank>\d+)(?:\.(?:pickle|pkl|json|bin))?$")
MOST_BYTES = 64 << 20  # of one dump; 2000 collectives take some megabytes


def recorded(sources: Iterable[LogSource]) -> list[LogSource]:
    """Replace flight-recorder dumps among the sources by one source with the lines about their differences."""
    other_sources, dumps = [], {}
    for source in sources:
        match = NAME.search(source.name)
        rank_dump = _dump(source) if match else None
        if match and rank_dump:
            dumps[int(match["rank"])] = rank_dump
        else:
            other_sources.append(source)
    if not dumps:
        return other_sources
    from clusterwright.diagnose.flight.compare import compared

    lines = compared(dumps)
    return (
        [*other_sources, of_text("flight recorder", "\n".join(lines), kind="flight")]
        if lines
        else other_sources
    )


def _dump(source: LogSource) -> Dump | None:
    """Parse a dump; return None if the source is only named like one."""
    from clusterwright.diagnose.flight.dump import dump

    try:
        with reading(source) as stream:
            data = stream.read(MOST_BYTES + 1)
        return dump(data) if len(data) <= MOST_BYTES else None
    except (OSError, EOFError, ValueError, RecursionError):
        return None
