"""How long a process is waited for: as long as it gets on with its work, by the kernel's own counts (proc(5))."""

from __future__ import annotations

from typing import Optional, Tuple

# An import that waits for the network is alive when a byte arrives in this time, and one that computes when it gets
# a hundredth of a second of a processor: at a load of 30, two of them, it got one each third of a second.
STILL_S = 30.0
LONGEST_S = (
    1800.0  # an import that works for ever: half an hour is beyond any file system that can be trained from
)


class Patience:
    """With one process at a time; `now` is the monotonic clock."""

    def __init__(self) -> None:
        self._begun = self._moved = 0.0
        self._done: Optional[Tuple[int, ...]] = None

    def begin(self, now: float) -> None:
        """From now on it is waited for."""
        self._begun = self._moved = now
        self._done = None

    def over(self, pid: int, now: float) -> str:
        """Why it is waited for no longer; empty while it works."""
        done = work(pid)
        if done != self._done:
            self._done, self._moved = done, now
        if now - self._moved > STILL_S:
            return f"has done nothing for {STILL_S:.0f} s"
        return f"has not been ready for {LONGEST_S:.0f} s" if now - self._begun > LONGEST_S else ""


def work(pid: int) -> Optional[Tuple[int, ...]]:
    """Processor time in ticks, of the user and the kernel, and bytes read; None for a process that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            user, kernel = file.read().rpartition(b")")[2].split()[11:13]
        with open(f"/proc/{pid}/io", "rb") as file:
            read = file.readline().split()[1]
    except (OSError, IndexError):
        return None
    return int(user), int(kernel), int(read)
