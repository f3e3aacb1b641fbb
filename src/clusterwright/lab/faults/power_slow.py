"""The power switch delays the boot of this host: --seconds, default: 10; undo ends the delay."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_number
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("seconds",)
LASTS = True
LONGEST_S = 601


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Check the option `seconds`; the lab's power switch finds the fault in the journal; return the lab's state."""
    parse_number(options, "seconds", 10, LONGEST_S)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Do nothing: the next request to the power switch has no delay; return the lab's state."""
    return lab
