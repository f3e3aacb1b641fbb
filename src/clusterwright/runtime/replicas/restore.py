"""Loads the state of an earlier generation from the memory of the surviving hosts."""

from __future__ import annotations

from clusterwright.runtime.checkpoints.assembling import assemble
from clusterwright.runtime.checkpoints.checkpoint import Loaded, Skipped, gather_problems
from clusterwright.runtime.checkpoints.source import Damaged
from clusterwright.runtime.checkpoints.target_state import TargetState
from clusterwright.runtime.checkpoints.writer import SaveMoment
from clusterwright.runtime.group import Group
from clusterwright.runtime.replicas import remembered
from clusterwright.runtime.replicas.remembered import Remembered


def newest(
    group: Group, target: TargetState | None = None
) -> tuple[Loaded | None, SaveMoment | None, list[Skipped]]:
    """Load the in-memory checkpoint on all ranks, or on none if one rank fails; collective.

    Returns its state and moment, or None twice, and the problems of the ranks that failed; none if there is no such
    checkpoint. The launcher's variable is read once and removed.
    """
    snapshot: Remembered | None = None
    try:
        snapshot = remembered.read_environment()
    except (Damaged, OSError) as error:
        result: Loaded | Skipped | None = Skipped.by(group.rank, 0, error)
    else:
        result = _attempt(snapshot, group, target) if snapshot else None
    problems = gather_problems(group, result)
    if problems or snapshot is None or not isinstance(result, Loaded):
        return None, None, problems
    return result, SaveMoment(snapshot.generation, snapshot.step), []


def _attempt(snapshot: Remembered, group: Group, target: TargetState | None) -> Loaded | Skipped:
    parts = (snapshot.reader(rank) for rank in range(snapshot.world_size))
    try:
        shared, local = assemble(parts, rank=group.rank, target=target, step=snapshot.step)
    except (Damaged, OSError) as error:
        return Skipped.by(group.rank, snapshot.step, error)
    except (KeyError, ValueError) as error:
        return Skipped(snapshot.step, f"rank {group.rank}: {error}", damaged=True)
    return Loaded(snapshot.step, shared, local if snapshot.world_size == group.world_size else None)
