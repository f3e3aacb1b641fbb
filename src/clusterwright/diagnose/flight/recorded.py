"""Replace flight-recorder dumps among the sources by one source with the lines of their comparison."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from clusterwright.diagnose.reading.read import OverBudgetError, TimeBudget
from clusterwright.diagnose.reading.source import LogSource, of_text, reading
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.diagnose.flight.dump import Dump

# PyTorch's default file names and those of the runtime; the number is the rank.
NAME = re.compile(r"(?:^|/)(?:nccl-|[\w.-]*rank[_-]?)(?P<rank>[0-9]{1,9})(?:\.(?:pickle|pkl|json|bin))?$")
MOST_BYTES = 64 << 20  # of one dump; 2000 collectives take some megabytes


def recorded(
    sources: Iterable[LogSource],
    budget: TimeBudget | None = None,
    warn: Callable[[str], None] = lambda _text: None,
) -> list[LogSource]:
    """Return the sources with all flight-recorder dumps replaced by one source of lines about their differences.

    `warn` receives a sentence if the budget of processor time ends before all dumps are compared.
    """
    time_budget = budget or TimeBudget()
    other_sources: list[LogSource] = []
    dumps: dict[int, Dump] = {}
    size, is_complete, lines = 0, True, list[str]()
    for source in sources:
        match = NAME.search(source.name)
        data = _data(source) if match else b""
        try:
            rank_dump = _dump(data, time_budget) if data else None
        except OverBudgetError:
            is_complete = False
            continue
        if match and rank_dump:
            dumps[int(match["rank"])] = rank_dump
            size += len(data)
        else:
            other_sources.append(source)
    if not dumps and is_complete:
        return other_sources
    from clusterwright.diagnose.flight.compare import compared

    time_budget.begin_source()
    time_budget.add(size)
    try:
        lines.extend(compared(dumps, time_budget.check, is_complete=is_complete))
    except OverBudgetError:
        is_complete = False
    if not is_complete:
        warn(_("the time budget is used up; not all dumps of NCCL's flight recorder are compared"))
    if not lines:
        return other_sources
    return [*other_sources, of_text("flight recorder", "\n".join(lines), kind="flight")]


def _data(source: LogSource) -> bytes:
    """Return the bytes of a file; none if it cannot be read or is too large for a dump."""
    try:
        with reading(source) as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, EOFError, ValueError):
        return b""
    return data if len(data) <= MOST_BYTES else b""


def _dump(data: bytes, budget: TimeBudget) -> Dump | None:
    """Parse a dump; return None if the source is only named like one.

    Raises:
        OverBudgetError: it takes too long.
    """
    from clusterwright.diagnose.flight.dump import dump

    budget.begin_source()
    budget.add(len(data))
    budget.check()
    try:
        return dump(data, budget.check)
    except (ValueError, RecursionError):
        return None
