"""One job as Slurm wrote it down."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Record:
    """Times are seconds since the epoch, sizes bytes; None is what was not written down, never zero."""

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
    limit_s: float | None = None  # None as well where there was none
    hosts: str = ""  # folded, as Slurm names them
    host_count: int = 0
    cpus: int = 0
    gpus: int = 0
    memory: int | None = None  # asked, over all hosts
    cpu_used_s: float | None = None
    memory_used: int | None = None  # of the largest task
    exit_code: str = ""

    @property
    def waited_s(self) -> float | None:
        """From when it could have run to when it did; a clock that was set back makes no wait negative."""
        ready_at = self.eligible if self.eligible is not None else self.submit
        return None if ready_at is None or self.start is None else max(0.0, self.start - ready_at)

    def ran_s(self, now: float) -> float:
        """How long it held its hosts, up to now."""
        if self.elapsed_s is not None:
            return self.elapsed_s
        return 0.0 if self.start is None else max(0.0, (self.end or now) - self.start)

    def allocated_s(self, begin: float, end: float) -> float:
        """How much of a time it held its hosts."""
        if self.start is None:
            return 0.0
        last = self.start + self.ran_s(end) if self.end is None else self.end
        return max(0.0, min(end, last) - max(begin, self.start))

    def moved(self, seconds: float) -> Record:
        """All its moments so much later: as another zone's clock says them."""
        names = ("submit", "eligible", "start", "end")
        times = {name: getattr(self, name) for name in names}
        return replace(self, **{name: time + seconds for name, time in times.items() if time is not None})
