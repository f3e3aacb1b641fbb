"""What hosts have free, now and as far as limits of time tell: where a job fits, and when it would."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clusterwright.monitor.simulate.settings import Settings

SOON_S = 1.0


@dataclass(frozen=True, slots=True)
class Need:
    """What a job takes: so many hosts, and of each so many GPUs and processors; `kinds` are where it may run."""

    hosts: int
    gpus: int
    cpus: int
    whole: bool  # hosts of its own
    kinds: tuple[str, ...]


@dataclass(slots=True)
class Host:
    """One host, what is free of it, and until when what runs on it may last."""

    number: int
    kind: str
    gpus: int
    cpus: int
    free_gpus: int
    free_cpus: int
    running: dict[int, tuple[float, int, int]] = field(default_factory=dict)  # job: until, gpus, cpus

    def takes(self, need: Need) -> bool:
        """Whether there is room now."""
        if need.whole:
            return not self.running and self.could(need)
        return self.free_gpus >= need.gpus and self.free_cpus >= need.cpus

    def could(self, need: Need) -> bool:
        """Whether there would be, if nothing ran."""
        return self.gpus >= need.gpus and self.cpus >= need.cpus


class Hosts:
    """All hosts; jobs are told by number."""

    def __init__(self, settings: Settings) -> None:
        self.of_kind: dict[str, list[Host]] = {}
        number = 0
        for key, kind in settings.kinds.items():
            self.of_kind[key] = []
            for _ in kind.names:
                self.of_kind[key].append(Host(number, key, kind.gpus, kind.cpus, kind.gpus, kind.cpus))
                number += 1

    def candidates(self, need: Need) -> Iterable[Host]:
        """Where it may run at all."""
        return (host for kind in need.kinds for host in self.of_kind[kind])

    def could_ever(self, need: Need) -> bool:
        """Whether an empty cluster would be large enough."""
        return sum(host.could(need) for host in self.candidates(need)) >= need.hosts

    def free(self) -> bool:
        """Whether anything is."""
        return any(host.free_cpus for hosts in self.of_kind.values() for host in hosts)

    def place(self, need: Need, kept: Plan | None = None, until: float = 0.0) -> list[Host] | None:
        """Hosts that take it now, those first that are left with least; none of what a plan keeps for others."""
        found = [
            host
            for host in self.candidates(need)
            if host.takes(need) and (kept is None or kept.leaves(host, need, until))
        ]
        if len(found) < need.hosts:
            return None
        found.sort(key=lambda host: (host.free_gpus, host.free_cpus, host.number))
        return found[: need.hosts]

    def take(self, job: int, need: Need, on: Sequence[Host], until: float) -> None:
        """It runs there; `until` is what its limit of time says."""
        for host in on:
            gpus, cpus = (host.gpus, host.cpus) if need.whole else (need.gpus, need.cpus)
            host.free_gpus -= gpus
            host.free_cpus -= cpus
            host.running[job] = (until, gpus, cpus)

    def give(self, job: int, on: Sequence[Host]) -> None:
        """It has ended."""
        for host in on:
            _, gpus, cpus = host.running.pop(job)
            host.free_gpus += gpus
            host.free_cpus += cpus


Step = tuple[float, int, int]  # from when on, GPUs and processors that are free


class Plan:
    """Hosts that backfill keeps for jobs that go before others, each from when it could start.

    Of each host it has what will be free from when on; of a job, the spans within which it could begin there.
    """

    def __init__(self, hosts: Hosts, now: float) -> None:
        self._hosts, self._now = hosts, now
        self._free: dict[int, list[Step]] = {}
        self._kept: set[int] = set()

    def leaves(self, host: Host, need: Need, until: float) -> bool:
        """Whether a job that starts now and may last until then hinders nobody for whom this host is kept."""
        if host.number not in self._kept:
            return True
        return any(begin <= self._now <= last for begin, last in self._begins(host, need, until - self._now))

    def keep(self, need: Need, lasts_s: float, window_s: float) -> float | None:
        """Keep hosts from the first moment at which there are enough; None beyond the window."""
        spans = [
            (begin, last, host)
            for host in self._hosts.candidates(need)
            if host.could(need)
            for begin, last in self._begins(host, need, lasts_s)
        ]
        for at in sorted({begin for begin, _, _ in spans}):
            if at > self._now + window_s:
                return None
            found = [host for begin, last, host in spans if begin <= at <= last]
            if len(found) >= need.hosts:
                self.take(found[: need.hosts], need, at, at + lasts_s)
                self._kept.update(host.number for host in found[: need.hosts])
                return at
        return None

    def take(self, on: Sequence[Host], need: Need, begin: float, until: float) -> None:
        """So much less is free from then till then."""
        for host in on:
            gpus, cpus = (host.gpus, host.cpus) if need.whole else (need.gpus, need.cpus)
            steps = _cut(_cut(self._steps(host), begin), until)
            self._free[host.number] = [
                (at, free - gpus, left - cpus) if begin <= at < until else (at, free, left)
                for at, free, left in steps
            ]

    def _begins(self, host: Host, need: Need, lasts_s: float) -> list[tuple[float, float]]:
        """From when to when it could begin, and have so much for all of its time."""
        gpus, cpus = (host.gpus, host.cpus) if need.whole else (need.gpus, need.cpus)
        found: list[tuple[float, float]] = []
        since: float | None = None
        for at, free, left in self._steps(host):
            fits = free >= gpus and left >= cpus
            if fits and since is None:
                since = at
            elif not fits and since is not None:
                if at - lasts_s >= since:
                    found.append((since, at - lasts_s))
                since = None
        return [*found, (since, float("inf"))] if since is not None else found

    def _steps(self, host: Host) -> list[Step]:
        """What runs ends at its limit at the latest; what should have ended already does so in a moment."""
        if host.number not in self._free:
            steps: list[Step] = [(self._now, host.free_gpus, host.free_cpus)]
            for until, gpus, cpus in sorted(host.running.values()):
                _, free, left = steps[-1]
                steps.append((max(until, self._now + SOON_S), free + gpus, left + cpus))
            self._free[host.number] = steps
        return self._free[host.number]


def _cut(steps: list[Step], at: float) -> list[Step]:
    """The same, with a step at this moment."""
    place = bisect_right(steps, (at, 1 << 60, 1 << 60))
    if place == 0 or steps[place - 1][0] == at:
        return steps
    _, free, left = steps[place - 1]
    return [*steps[:place], (at, free, left), *steps[place:]]
