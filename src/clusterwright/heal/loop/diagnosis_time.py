"""The time that heal spends on diagnoses of failed jobs; meanwhile it polls no host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clusterwright.onhost.lib.safe_reader import OverBudgetError

POLL_S = 60.0  # for all jobs of a poll: each has an equal share of what remains,
JOB_S = 30.0  # and at most this; a job takes a second or two
USER_S = 120.0  # for the jobs of a user within
WINDOW_S = 3600.0
MINUTE_S = 60


class DiagnosisTime:
    """Seconds that passed, since a user can stop the process that reads the user's files."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._poll_s, self._jobs = POLL_S, 1
        self._used_s: dict[str, dict[int, float]] = {}  # by user and minute

    def begin_poll(self, jobs: int) -> None:
        """Begin a poll in which this number of jobs shares the poll's time."""
        self._poll_s, self._jobs = POLL_S, max(1, jobs)

    @contextmanager
    def charge(self, user: str) -> Iterator[float]:
        """Yield the seconds for the next job of the poll, and charge the time that passes to its user, even on error.

        Raises:
            OverBudgetError: the user's jobs have used up the user's time.
        """
        begun_s = self._clock()
        share_s, self._jobs = max(0.0, self._poll_s) / max(1, self._jobs), self._jobs - 1
        used_s = self._used_within_window(user, begun_s)
        remaining_s = USER_S - sum(used_s.values())
        if remaining_s <= 0:
            raise OverBudgetError(f"diagnoses of the user's jobs took {USER_S:.0f} s within an hour")
        try:
            yield min(JOB_S, share_s, remaining_s)
        finally:
            end_s = self._clock()
            self._poll_s -= end_s - begun_s
            minute = int(end_s // MINUTE_S)
            used_s[minute] = used_s.get(minute, 0.0) + end_s - begun_s

    def _used_within_window(self, user: str, now_s: float) -> dict[int, float]:
        """Return the seconds that a user's jobs took, by minute; those before the window are forgotten."""
        first_minute = int((now_s - WINDOW_S) // MINUTE_S)
        used_s = self._used_s.get(user, {})
        self._used_s[user] = {minute: seconds for minute, seconds in used_s.items() if minute > first_minute}
        return self._used_s[user]
