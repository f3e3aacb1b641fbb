"""Samples of a host's ranks for the search for decay: memory, and the time of their own parts of steps.

They are written to samples/HOST.jsonl in the run's folder, each second at first, then after 2 % of the run's time, so
that a day has some 500; find_decays of goodput/decay.py reads them.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence

from clusterwright.onhost.supervisor.folder import Events
from clusterwright.onhost.supervisor.hang.progress import RANK_TIME, STEP, WAIT_TIME, Pages
from clusterwright.onhost.supervisor.host.available import available_bytes
from clusterwright.onhost.supervisor.host.processes import parent_of

SHORTEST_S, LONGEST_S, SHARE = 1.0, 600.0, 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Samples:
    """Writes the samples of one host; times are the monotonic clock."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._begun = self._due = float("inf")

    def begin(self, now: float) -> None:
        """Start the schedule of samples anew at `now` (monotonic), for the ranks of a new generation."""
        self._begun, self._due = now, now + SHORTEST_S

    def poll(self, pids: Sequence[int], pages: Optional[Pages], generation: int, now: float) -> None:
        """Write an event with the ranks' steps, times and memory if one is due and they run (`pids`, by local rank)."""
        if now < self._due or not pids:
            return
        self._due = now + min(LONGEST_S, max(SHORTEST_S, SHARE * (now - self._begun)))
        self._events.write(
            "sample",
            generation,
            step=_cells(pages, len(pids), STEP),
            own=[nanoseconds / 1e9 for nanoseconds in _cells(pages, len(pids), RANK_TIME)],
            waited=[nanoseconds / 1e9 for nanoseconds in _cells(pages, len(pids), WAIT_TIME)],
            memory=resident_bytes(pids),
            available=available_bytes(),
        )


def resident_bytes(pids: Sequence[int]) -> List[int]:
    """Return for each process the resident memory of it and its descendants, such as loader workers, in bytes."""
    parents = {int(name): parent_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    sizes: Dict[int, int] = dict.fromkeys(pids, 0)
    for process in parents:
        root: Any = process
        while root and root not in sizes:
            root = parents.get(root)
        if root:
            sizes[root] += _resident(process)
    return [sizes[pid] for pid in pids]


def _resident(pid: int) -> int:
    """Return the resident bytes of a process; 0 for one that has ended."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _cells(pages: Optional[Pages], count: int, index: int) -> List[int]:
    """Return the number at `index` of each rank's progress page; zeros for a launcher, whose ranks have none."""
    return [pages[rank][index] for rank in range(count)] if pages and len(pages) == count else [0] * count
