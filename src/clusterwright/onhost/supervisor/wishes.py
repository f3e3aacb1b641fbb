"""Why a training is to save and leave: a person's wish, Slurm's, or the clock's."""

from __future__ import annotations

import signal
from typing import Union

from clusterwright.onhost.supervisor import room
from clusterwright.onhost.supervisor.decide import CANCELLED
from clusterwright.onhost.supervisor.folder import Folder

TIME_LIMIT, PREEMPTED = "time-limit", "preempted"


class Wishes:
    """What one supervisor has been told; `due` is when its time is over (monotonic), infinite where Slurm says it."""

    def __init__(self, folder: Folder, place: Union[room.Slurm, room.Local], due: float) -> None:
        self.over = False  # nothing matters any more but that Slurm wants us gone
        self.told_to_go = False
        self.news = False  # since `why` was asked, a signal has come
        self._folder, self._room, self._due = folder, place, due
        self._signalled = ""

    def on_signal(self, number: int) -> None:
        """USR1 comes before the time limit; TERM from a preemption or from scancel; INT from a terminal."""
        self.news = True
        if number == signal.SIGUSR1:
            self._signalled = self._signalled or TIME_LIMIT
            return
        self.told_to_go = True
        if not self.over:
            self._signalled = self._who_wants_it()

    def leaving(self) -> None:
        """An agent has been told to go: with a grace time, Slurm tells the steps long before the batch step."""
        if not self._signalled:
            self.on_signal(signal.SIGTERM)

    def why(self, now: float, asked: str) -> str:
        """The reason, the first one first; empty to go on."""
        self.news = False
        if self._signalled or asked:
            return self._signalled or asked
        if self._folder.has("cancelled") or self._folder.has("stop"):
            return CANCELLED
        return TIME_LIMIT if now >= self._due else ""

    def _who_wants_it(self) -> str:
        if not self._room.was_cancelled():
            return PREEMPTED
        self._room.cancel_standby()
        return CANCELLED
