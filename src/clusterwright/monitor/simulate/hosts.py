"""Free resources of hosts, now and by the time limits of running jobs: where and when a job fits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clusterwright.monitor.simulate.settings import SimulationSettings

SOON_S = 1.0


@dataclass(frozen=True, slots=True)
class Need:
    """A job's request: hosts, and GPUs and CPUs of each; `kinds` are the host kinds on which it may run."""

    hosts: int
    gpus: int
    cpus: int
    is_exclusive: bool  # the job shares its hosts with no other job
    kinds: tuple[str, ...]


@dataclass(slots=True)
class SimulatedHost:
    """One host, its free GPUs and CPUs, and the jobs on it with their latest end."""

    number: int
    kind: str
    gpus: int
    cpus: int
    free_gpus: int
    free_cpus: int
    running: dict[int, tuple[float, int, int]] = field(default_factory=dict)  # job: until, gpus, cpus

    def takes(self, need: Need) -> bool:
        """Return whether the request fits into the free resources now; an exclusive one needs a host without jobs."""
        if need.is_exclusive:
            return not self.running and self.could(need)
        return self.free_gpus >= need.gpus and self.free_cpus >= need.cpus

    def could(self, need: Need) -> bool:
        """Return whether the request fits the host when it is empty."""
        return self.gpus >= need.gpus and self.cpus >= need.cpus


class Hosts:
    """All hosts of the simulated cluster; jobs are identified by number."""

    def __init__(self, settings: SimulationSettings) -> None:
        self.of_kind: dict[str, list[SimulatedHost]] = {}
        number = 0
        for key, kind in settings.kinds.items():
            self.of_kind[key] = []
            for _name in kind.names:
                self.of_kind[key].append(
                    SimulatedHost(number, key, kind.gpus, kind.cpus, kind.gpus, kind.cpus)
                )
                number += 1

    def candidates(self, need: Need) -> Iterable[SimulatedHost]:
        """Return hosts of the kinds on which the job may run."""
        return (host for kind in need.kinds for host in self.of_kind[kind])

    def is_possible(self, need: Need) -> bool:
        """Return True if the request would fit the simulated cluster without any jobs."""
        return sum(host.could(need) for host in self.candidates(need)) >= need.hosts

    def free(self) -> bool:
        """Return whether any host has a free CPU."""
        return any(host.free_cpus for hosts in self.of_kind.values() for host in hosts)

    def find_hosts(
        self, need: Need, plan: PlacementPlan | None = None, end: float = 0.0
    ) -> list[SimulatedHost] | None:
        """Return as many hosts as requested on which the request fits now, fewest free GPUs first; None if too few.

        With a plan, hosts are left out on which the job, which ends at `end`, would delay a reservation.
        """
        matches = [
            host
            for host in self.candidates(need)
            if host.takes(need) and (plan is None or plan.allows(host, need, end))
        ]
        if len(matches) < need.hosts:
            return None
        matches.sort(key=lambda host: (host.free_gpus, host.free_cpus, host.number))
        return matches[: need.hosts]

    def allocate(self, job: int, need: Need, on: Sequence[SimulatedHost], end: float) -> None:
        """Allocate the request on these simulated hosts to a job; `end` is the time at which its time limit ends.

        An exclusive request takes whole hosts.
        """
        for host in on:
            gpus, cpus = (host.gpus, host.cpus) if need.is_exclusive else (need.gpus, need.cpus)
            host.free_gpus -= gpus
            host.free_cpus -= cpus
            host.running[job] = (end, gpus, cpus)

    def release(self, job: int, on: Sequence[SimulatedHost]) -> None:
        """Return the GPUs and CPUs of an ended job to these simulated hosts."""
        for host in on:
            _end, gpus, cpus = host.running.pop(job)
            host.free_gpus += gpus
            host.free_cpus += cpus


Step = tuple[float, int, int]  # time from which GPUs and CPUs are free


class PlacementPlan:
    """Reservations that one backfill pass makes for jobs of higher priority.

    For each host it has the free resources over time, and from these the windows in which a job could start.
    """

    def __init__(self, hosts: Hosts, now: float) -> None:
        self._hosts, self._now = hosts, now
        self._free: dict[int, list[Step]] = {}
        self._reserved: set[int] = set()

    def allows(self, host: SimulatedHost, need: Need, end: float) -> bool:
        """Return whether a job from now until `end` on the host would delay no reservation.

        True on unreserved hosts.
        """
        if host.number not in self._reserved:
            return True
        return any(begin <= self._now <= last for begin, last in self._begins(host, need, end - self._now))

    def reserve(self, need: Need, lasts_s: float, window_s: float) -> float | None:
        """Reserve hosts for `lasts_s` from the first time at which enough are free, and return that time in seconds.

        Return None, and reserve nothing, if there is none within `window_s` seconds from now.
        """
        spans = [
            (begin, last, host)
            for host in self._hosts.candidates(need)
            if host.could(need)
            for begin, last in self._begins(host, need, lasts_s)
        ]
        for start in sorted({begin for begin, _last, _host in spans}):
            if start > self._now + window_s:
                return None
            hosts = [host for begin, last, host in spans if begin <= start <= last]
            if len(hosts) >= need.hosts:
                self.allocate(hosts[: need.hosts], need, start, start + lasts_s)
                self._reserved.update(host.number for host in hosts[: need.hosts])
                return start
        return None

    def allocate(self, on: Sequence[SimulatedHost], need: Need, begin: float, end: float) -> None:
        """Subtract a request from the hosts' free resources between two times; an exclusive one takes whole hosts.

        It is not checked whether it fits.
        """
        for host in on:
            gpus, cpus = (host.gpus, host.cpus) if need.is_exclusive else (need.gpus, need.cpus)
            steps = _split(_split(self._steps(host), begin), end)
            self._free[host.number] = [
                (time, free - gpus, free_cpus - cpus) if begin <= time < end else (time, free, free_cpus)
                for time, free, free_cpus in steps
            ]

    def _begins(self, host: SimulatedHost, need: Need, lasts_s: float) -> list[tuple[float, float]]:
        """Return windows (first, last) of start times at which the request fits for all of `lasts_s`.

        The last may be infinite.
        """
        gpus, cpus = (host.gpus, host.cpus) if need.is_exclusive else (need.gpus, need.cpus)
        windows: list[tuple[float, float]] = []
        begin: float | None = None
        for time, free, free_cpus in self._steps(host):
            has_capacity = free >= gpus and free_cpus >= cpus
            if has_capacity and begin is None:
                begin = time
            elif not has_capacity and begin is not None:
                if time - lasts_s >= begin:
                    windows.append((begin, time - lasts_s))
                begin = None
        return [*windows, (begin, float("inf"))] if begin is not None else windows

    def _steps(self, host: SimulatedHost) -> list[Step]:
        """Return a host's free resources over time; jobs end at their time limit, overdue ones after SOON_S."""
        if host.number not in self._free:
            steps: list[Step] = [(self._now, host.free_gpus, host.free_cpus)]
            for end, gpus, cpus in sorted(host.running.values()):
                _time, free, free_cpus = steps[-1]
                steps.append((max(end, self._now + SOON_S), free + gpus, free_cpus + cpus))
            self._free[host.number] = steps
        return self._free[host.number]


def _split(steps: list[Step], time: float) -> list[Step]:
    """Return the steps (time, free, free CPUs) with one more that begins at `time`, a copy of the one before it.

    Unchanged if one begins then, or if `time` is before them all.
    """
    index = bisect_right(steps, (time, 1 << 60, 1 << 60))
    if index == 0 or steps[index - 1][0] == time:
        return steps
    _time, free, free_cpus = steps[index - 1]
    return [*steps[:index], (time, free, free_cpus), *steps[index:]]
