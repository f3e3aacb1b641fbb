"""Inconsistent power state: the power switch reports success for this host and does nothing; undo ends it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = True


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Do nothing here: the lab's power switch finds the fault in the journal; return the lab's state."""
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Do nothing: requests made to the power switch meanwhile are not repeated; return the lab's state."""
    return lab
