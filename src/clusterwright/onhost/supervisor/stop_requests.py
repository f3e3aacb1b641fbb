"""Why a training must save and leave: canceled by the user, preempted by Slurm, or the time limit."""

from __future__ import annotations

import signal

from clusterwright.onhost.lib.run_outcome import CANCELED
from clusterwright.onhost.supervisor import ssh_hosts
from clusterwright.onhost.supervisor.folder import Folder

TIME_LIMIT, PREEMPTED = "time-limit", "preempted"


class StopRequests:
    """The stop requests of one supervisor; `due` is its own time limit (monotonic), infinite where Slurm signals it."""

    def __init__(self, folder: Folder, scheduler: ssh_hosts.Scheduler, due: float) -> None:
        self.over = False  # the run has ended: reasons no longer matter, only SIGTERM does
        self.termination_requested = False
        self.news = False  # a signal arrived since the last call of `reason`
        self._folder, self._scheduler, self._due = folder, scheduler, due
        self._signalled = ""

    def on_signal(self, number: int) -> None:
        """Record a signal: SIGUSR1 is the time limit, SIGTERM and SIGINT request termination."""
        self.news = True
        if number == signal.SIGUSR1:
            self._signalled = self._signalled or TIME_LIMIT
            return
        self.termination_requested = True
        if not self.over:
            self._signalled = self._termination_reason()

    def leaving(self) -> None:
        """Handle an agent's report of SIGTERM as if this process had got it, unless a signal has come.

        At a preemption with grace time Slurm signals steps first.
        """
        if not self._signalled:
            self.on_signal(signal.SIGTERM)

    def reason(self, now: float, reason: str) -> str:
        """Return why the run must stop, or "" to continue.

        By a signal, the present `reason`, the run's file `cancelled` or `stop`, or the time limit (`now` is monotonic).
        """
        self.news = False
        if self._signalled or reason:
            return self._signalled or reason
        if self._folder.has("cancelled") or self._folder.has("stop"):
            return CANCELED
        return TIME_LIMIT if now >= self._due else ""

    def _termination_reason(self) -> str:
        if not self._scheduler.was_cancelled():
            return PREEMPTED
        self._scheduler.cancel_standby()
        return CANCELED
