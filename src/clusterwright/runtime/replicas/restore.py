"""Loads the state of an earlier generation from the memory of the surviving hosts."""

from __future__ import annotations

from clusterwright.runtime.checkpoints.assembling import assemble
from clusterwright.runtime.checkpoints.checkpoint import Loaded
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.checkpoints.target_state import TargetState
from clusterwright.runtime.checkpoints.writer import SaveMoment
from clusterwright.runtime.group import Group
from clusterwright.runtime.replicas import remembered
from clusterwright.runtime.replicas.remembered import Remembered


def newest(
    group: Group, target: TargetState | None = None
) -> tuple[Loaded | None, SaveMoment | None, list[str]]:
    """Load the in-memory checkpoint on all ranks, or on none if one rank fails.

    Returns its state and moment, or None twice, and the problems of the ranks that failed.
    """
    snapshot: Remembered | None = None
    try:
        snapshot = remembered.read_environment()
    except OSError as error:
        result: Loaded | str | None = f"rank {group.rank}: {error}"
    else:
        result = _attempt(snapshot, group, target) if snapshot else None
    problems = [problem for problem in group.gather(result if isinstance(result, str) else "") if problem]
    if problems or snapshot is None or not isinstance(result, Loaded):
        return None, None, problems
    return result, SaveMoment(snapshot.generation, snapshot.step), []


def _attempt(snapshot: Remembered, group: Group, target: TargetState | None) -> Loaded | str:
    parts = (snapshot.reader(rank) for rank in range(snapshot.world_size))
    try:
        shared, local = assemble(parts, rank=group.rank, target=target, step=snapshot.step)
    except (Damaged, OSError, KeyError, ValueError) as error:
        return f"rank {group.rank}: {error}"
    return Loaded(snapshot.step, shared, local if snapshot.world_size == group.world_size else None)
