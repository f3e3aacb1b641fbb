"""Whether Slurm is in reach, asked without waiting for the answer: the agents go on hearing us meanwhile."""

from __future__ import annotations

import time
from typing import Optional, Sequence

from clusterwright.onhost.lib import processes

AT_ONCE_S = 2.0  # a slurmctld that answers does so in 0.03 s
FORGOTTEN_S = 1.0  # an answer that nobody wanted for so long says nothing of now


class Reach:
    """One question at a time: a command, and the words of a good answer."""

    def __init__(self, command: Sequence[str], words: str, limit_s: float = AT_ONCE_S) -> None:
        self._command, self._words, self._limit_s = list(command), words, limit_s
        self._asked: Optional[processes.Process] = None
        self._until = 0.0

    def answer(self) -> Optional[bool]:
        """Ask, if nobody has; None while it is open, and no for what comes too late."""
        now = time.monotonic()
        if self._asked and now > self._until + FORGOTTEN_S:
            self._end()
        if not self._asked:
            try:
                self._asked = processes.start(self._command, stdout=processes.PIPE, stderr=processes.DEVNULL)
            except OSError:
                return False
            self._until = now + self._limit_s
        if self._asked.poll() is None and now < self._until:
            return None
        return self._words in self._end()

    def _end(self) -> str:
        """What it has said; who is still at it is ended, and has said nothing."""
        asked, self._asked = self._asked, None
        if asked is None:
            return ""
        open_still = asked.poll() is None
        asked.kill()
        said: bytes = asked.communicate()[0]
        return "" if open_still else said.decode(errors="replace")
