"""The accounting record of one job or step."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class AccountingRecord:
    """A job or step; times in seconds since the epoch, sizes in bytes; None is a value that is not recorded."""

    id: str
    name: str = ""
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    state: str = ""
    submit: float | None = None
    eligible: float | None = None
    start: float | None = None
    end: float | None = None
    elapsed_s: float | None = None
    limit_s: float | None = None  # None also for no limit
    hosts: str = ""  # a hostlist
    host_count: int = 0
    cpus: int = 0
    gpus: int = 0
    memory: int | None = None  # requested, of all hosts
    cpu_used_s: float | None = None
    memory_used: int | None = None  # of the largest task
    exit_code: str = ""

    @property
    def waited_s(self) -> float | None:
        """Seconds from eligible (else submitted) to start, at least 0; None if a time is missing."""
        ready_at = self.eligible if self.eligible is not None else self.submit
        return None if ready_at is None or self.start is None else max(0.0, self.start - ready_at)

    def ran_s(self, now: float) -> float:
        """Return the seconds for which the job has had its allocation: Slurm's `elapsed_s`, else start to end or `now`.

        0 if it did not start.
        """
        if self.elapsed_s is not None:
            return self.elapsed_s
        return 0.0 if self.start is None else max(0.0, (self.end or now) - self.start)

    def allocated_s(self, begin: float, end: float) -> float:
        """Return the seconds of a time range in which the job had its allocation; 0 if it did not start."""
        if self.start is None:
            return 0.0
        last = self.start + self.ran_s(end) if self.end is None else self.end
        return max(0.0, min(end, last) - max(begin, self.start))

    def moved(self, seconds: float) -> AccountingRecord:
        """Return a copy with submission, eligible, start and end shifted by some seconds; unknown times stay None."""
        names = ("submit", "eligible", "start", "end")
        times = {name: getattr(self, name) for name in names}
        return replace(self, **{name: time + seconds for name, time in times.items() if time is not None})
