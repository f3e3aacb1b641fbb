"""Orderly stop at a step boundary, agreed by all ranks: on a signal, the `stop` file, the deadline or more ranks."""

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
)  # from Slurm at preemption and before the time limit, and from our agent
REGROUP = "regroup"
REASONS = ("", REGROUP, "stop file", "deadline", "signal")  # in rising priority
_POLL_INTERVAL_S = 1.0  # the folder may be on NFS, where a stat costs a round trip
# On top of three steps and two saves: a quarter of a second until the ranks vote (sync_point.py), and the clocks of
# hosts, which differ by far less under chrony.
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
        """Record a stop signal. In a forked process, restore the default handler and die of the signal."""
        if os.getpid() == self._pid:
            self._signalled = True
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def reason(self, step_seconds: float, save_seconds: float) -> int:
        """Return why this rank must stop, as an index of REASONS: signal, deadline, stop file or regroup.

        0 to continue. 3 steps and 2 saves must fit before the deadline.
        """
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
    """A vote of all ranks, cast at one step boundary and counted at the next, so that no rank waits."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._names: tuple[str, ...] = ()
        self._ballot = torch.zeros(0, dtype=torch.int64)
        self._work: Any = None

    def cast(self, **vote_fields: int) -> None:
        """Start a vote of all ranks, without waiting; the maximum of each field counts. All pass the same fields."""
        self._names, self._ballot = tuple(vote_fields), torch.tensor(list(vote_fields.values()))
        largest = dist.AllreduceOptions()
        largest.reduceOp = dist.ReduceOp(dist.ReduceOp.MAX)
        # dist.all_reduce adds checks that take half as long again
        self._work = self._group.control.allreduce([self._ballot], largest)

    def count(self) -> dict[str, int]:
        """Wait for the open vote and return the maximum of each field over all ranks; empty without an open vote."""
        if self._work is None:
            return {}
        self._work.wait()
        self._work = None
        return dict(zip(self._names, self._ballot.tolist()))
