"""Leaving in order: a signal, the `stop` file, the deadline or more ranks, agreed by all at a step boundary."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from clusterwright.runtime.group import Group
from clusterwright.runtime.progress import Progress

STOP_SIGNALS = (
    signal.SIGTERM,
    signal.SIGUSR1,
)  # of Slurm at preemption and before the time limit, and of our agent
REGROUP = "regroup"
REASONS = ("", REGROUP, "stop file", "deadline", "signal")  # the last of several holds
_POLL_INTERVAL_S = 1.0  # the folder may be on NFS, where a look costs a round trip
# On top of three steps and two saves: a quarter of a second until the ranks vote (rounds.py), and the clocks of hosts,
# which differ by far less where chrony keeps them.
_MARGIN_S = 2.0


class StopRequest:
    """This rank's own reason to stop, as an index of REASONS."""

    def __init__(self, run: Path | None, deadline: float | None, progress: Progress) -> None:
        self._progress = progress
        self._file = run / "stop" if run else None
        self._deadline = deadline
        self._polled_at = float("-inf")
        self._signalled = False
        self._pid = os.getpid()
        for number in STOP_SIGNALS:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: Any) -> None:
        """Only remembered, however often it comes. A process forked from us dies of it as it would without us."""
        if os.getpid() == self._pid:
            self._signalled = True
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def reason(self, step_seconds: float, save_seconds: float) -> int:
        """Why to stop now, given how long the slowest step and the slowest save took; 0 to go on."""
        if self._signalled:
            return 4
        if self._deadline and time.time() + 3 * step_seconds + 2 * save_seconds + _MARGIN_S > self._deadline:
            return 3
        return 2 if self._stop_file() else int(self._progress.regroup)

    def _stop_file(self) -> bool:
        now = time.monotonic()
        if not self._file or now - self._polled_at < _POLL_INTERVAL_S:
            return False
        self._polled_at = now
        return self._file.exists()


class Vote:
    """What all ranks agree on: cast at one boundary and counted at the next, so that no rank ever waits."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._names: tuple[str, ...] = ()
        self._ballot = torch.zeros(0, dtype=torch.int64)
        self._work: Any = None

    def cast(self, **vote_fields: int) -> None:
        """Say what this rank wants; the largest wish of all ranks will hold. All name the same ones."""
        self._names, self._ballot = tuple(vote_fields), torch.tensor(list(vote_fields.values()))
        largest = dist.AllreduceOptions()
        largest.reduceOp = dist.ReduceOp(dist.ReduceOp.MAX)
        # dist.all_reduce does the same after checks that take half as long again
        self._work = self._group.control.allreduce([self._ballot], largest)

    def count(self) -> dict[str, int]:
        """What was agreed on; nothing when no vote is open."""
        if self._work is None:
            return {}
        self._work.wait()
        self._work = None
        return dict(zip(self._names, self._ballot.tolist()))
