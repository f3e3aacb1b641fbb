"""The switch takes its time to boot this host: --seconds, 10 if left out; undo makes it quick again."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import parse_number
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ("seconds",)
LASTS = True
LONGEST_S = 601


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """The lab's switch reads the journal."""
    parse_number(options, "seconds", 10, LONGEST_S)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Quick again with the next request."""
    return lab
