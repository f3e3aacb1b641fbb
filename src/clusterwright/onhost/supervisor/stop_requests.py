"""Why a training is to save and leave: a person's wish, Slurm's, or the clock's."""

from __future__ import annotations

import signal
from typing import Union

from clusterwright.onhost.supervisor import schedulers
from clusterwright.onhost.supervisor.decide import CANCELLED
from clusterwright.onhost.supervisor.folder import Folder

TIME_LIMIT, PREEMPTED = "time-limit", "preempted"


class StopRequests:
    """What one supervisor has been told; `due` is when its time is over (monotonic), infinite where Slurm says it."""

    def __init__(
        self, folder: Folder, scheduler: Union[schedulers.Slurm, schedulers.Local], due: float
    ) -> None:
        self.over = False  # nothing matters any more but that Slurm wants us gone
        self.termination_requested = False
        self.news = False  # since `why` was asked, a signal has come
        self._folder, self._scheduler, self._due = folder, scheduler, due
        self._signalled = ""

    def on_signal(self, number: int) -> None:
        """USR1 comes before the time limit; TERM from a preemption or from scancel; INT from a terminal."""
        self.news = True
        if number == signal.SIGUSR1:
            self._signalled = self._signalled or TIME_LIMIT
            return
        self.termination_requested = True
        if not self.over:
            self._signalled = self._termination_reason()

    def leaving(self) -> None:
        """An agent has been told to go: with a grace time, Slurm tells the steps long before the batch step."""
        if not self._signalled:
            self.on_signal(signal.SIGTERM)

    def why(self, now: float, reason: str) -> str:
        """The reason, the first one first; empty to go on."""
        self.news = False
        if self._signalled or reason:
            return self._signalled or reason
        if self._folder.has("cancelled") or self._folder.has("stop"):
            return CANCELLED
        return TIME_LIMIT if now >= self._due else ""

    def _termination_reason(self) -> str:
        if not self._scheduler.was_cancelled():
            return PREEMPTED
        self._scheduler.cancel_standby()
        return CANCELLED
