"""Frozen host: every process is frozen, its network stack still answers ping; undo thaws it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab import cgroups
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = True


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Freeze all processes of the host, as if it swapped heavily; return the lab's state.

    Connections stay open and nothing moves.
    """
    cgroups.freeze(lab.name, host.name, frozen=True)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Let all processes of the frozen host run again; return the lab's state."""
    cgroups.freeze(lab.name, host.name, frozen=False)
    return lab
