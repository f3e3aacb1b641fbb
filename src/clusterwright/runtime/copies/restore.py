"""The state of an earlier generation, out of the memory of living hosts."""

from __future__ import annotations

from clusterwright.runtime.checkpoints.assembling import assemble
from clusterwright.runtime.checkpoints.checkpoint import Loaded
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.checkpoints.wanted import Wanted
from clusterwright.runtime.checkpoints.writer import Moment
from clusterwright.runtime.copies import remembered
from clusterwright.runtime.copies.remembered import Remembered
from clusterwright.runtime.group import Group


def newest(group: Group, wanted: Wanted | None = None) -> tuple[Loaded | None, Moment | None, list[str]]:
    """What is in memory, on all ranks alike, and what was wrong with it: then nobody uses it."""
    there: Remembered | None = None
    try:
        there = remembered.told()
    except OSError as why:
        found: Loaded | str | None = f"rank {group.rank}: {why}"
    else:
        found = _attempt(there, group, wanted) if there else None
    problems = [each for each in group.gather(found if isinstance(found, str) else "") if each]
    if problems or there is None or not isinstance(found, Loaded):
        return None, None, problems
    return found, Moment(there.generation, there.step), []


def _attempt(there: Remembered, group: Group, wanted: Wanted | None) -> Loaded | str:
    parts = (there.reader(rank) for rank in range(there.world_size))
    try:
        shared, own = assemble(parts, rank=group.rank, wanted=wanted, step=there.step)
    except (Damaged, OSError, KeyError, ValueError) as why:
        return f"rank {group.rank}: {why}"
    return Loaded(there.step, shared, own if there.world_size == group.world_size else None)
