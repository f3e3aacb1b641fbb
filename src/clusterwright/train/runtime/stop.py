"""Leaving in order: a signal, the `stop` file or the deadline, agreed by all ranks at a step boundary."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from clusterwright.train.runtime.group import Group

REASONS = ("", "stop file", "deadline", "signal")
_LOOK_EVERY_S = 1.0  # the folder may be on NFS, where a look costs a round trip
_MARGIN_S = (
    2.0  # on top of three steps and two saves: the clocks of hosts in step by chrony differ by far less
)


class Wish:
    """This rank's own reason to stop, as an index of REASONS."""

    def __init__(self, run: Path | None, deadline: float | None) -> None:
        self._file = run / "stop" if run else None
        self._deadline = deadline
        self._looked = float("-inf")
        self._signalled = False
        self._pid = os.getpid()
        for number in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: Any) -> None:
        """Only remembered. A data loader's worker, forked from us, dies of it as it would without us."""
        if os.getpid() == self._pid:
            self._signalled = True
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def reason(self, step_seconds: float, save_seconds: float) -> int:
        """Why to stop now, given how long the slowest step and the slowest save took; 0 to go on."""
        if self._signalled:
            return 3
        if self._deadline and time.time() + 3 * step_seconds + 2 * save_seconds + _MARGIN_S > self._deadline:
            return 2
        return int(self._stop_file())

    def _stop_file(self) -> bool:
        now = time.monotonic()
        if not self._file or now - self._looked < _LOOK_EVERY_S:
            return False
        self._looked = now
        return self._file.exists()


class Vote:
    """What all ranks agree on: cast at one boundary and counted at the next, so that no rank ever waits."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._ballot = torch.zeros(2, dtype=torch.int64)
        self._work: Any = None

    def cast(self, *, stop: int, save: bool) -> None:
        """Say what this rank wants; the largest wish of all ranks will hold."""
        self._ballot = torch.tensor([stop, int(save)])
        self._work = dist.all_reduce(
            self._ballot, dist.ReduceOp.MAX, group=self._group.control, async_op=True
        )

    def count(self) -> tuple[int, bool]:
        """The agreed reason to stop (0: none) and whether to save."""
        if self._work is None:
            return 0, False
        self._work.wait()
        self._work = None
        stop, save = self._ballot.tolist()
        return stop, bool(save)
