"""Host whose processor degrades: its share of one processor falls each minute, from all of it to --percent.

--per-minute is in percent of one processor; undo removes the limit.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab.faults import slow_host
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import falling_percent
from clusterwright.lab.state import LabState

OPTIONS = ("per-minute", "percent")
LASTS = True
undo = slow_host.undo


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if an option is out of range, or the kernel has no CPU quotas."""
    falling_percent(options, 0)
    slow_host.require_quotas(lab, host)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Limit the host to one whole processor, which a rank of a training has; return the lab's state.

    That is the start of the gradual fault.
    """
    step(lab, host, options, 0)
    return lab


def step(lab: LabState, host: LabHost, options: Mapping[str, str], minutes: float) -> bool:
    """Limit the host to its share of a processor after so many minutes; return False once that is the lowest."""
    percent, lowest = falling_percent(options, minutes)
    slow_host.limit_share(lab, host, percent)
    return percent > lowest
