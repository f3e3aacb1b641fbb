"""A model of Slurm: jobs are submitted, start by priority or by backfill, and end.

Modeled: partitions with tiers, limits and exclusive hosts; multifactor priority with Fair Tree and decay; limits of
teams, users and QOS; head-room; the main scheduling pass, which stops in a partition at the first job that does not
fit; backfill every 30 s, which reserves hosts for jobs ahead. Not modeled: memory, preemption, reservations, topology,
licenses, arrays as one entry, host failures, and the time of prologs.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field

from clusterwright.i18n import _
from clusterwright.monitor.simulate.fairshare import FairTree
from clusterwright.monitor.simulate.hosts import Hosts, Need, PlacementPlan, SimulatedHost
from clusterwright.monitor.simulate.limits import Limits
from clusterwright.monitor.simulate.settings import CALC_S, MAX_AGE_S, WEIGHTS, Queue, SimulationSettings
from clusterwright.monitor.simulate.trace import TraceJob

# Jobs for which one backfill pass reserves hosts. Slurm reserves for all jobs that it tests; a job further back starts
# later than any job that its reservation could delay, and its cost grows with the jobs before it.
MAX_RESERVATIONS = 30


@dataclass(slots=True)
class WaitingJob:
    """A pending job of the replay."""

    number: int
    job: TraceJob
    need: Need
    queue: Queue
    limit_s: float
    priority: float = 0.0

    @property
    def order(self) -> tuple[float, float, float, int]:
        """Sort key of pending jobs, lowest first: tier of the partition, priority, time of submission, number."""
        return (-self.queue.tier, -self.priority, self.job.submit, self.number)


@dataclass(frozen=True, slots=True)
class JobRun:
    """A job that the replay has started."""

    job: TraceJob
    start: float
    end: float
    gpus: int  # requested, over all hosts
    allocated_gpus: int  # held by the job, so not available to other jobs
    cpus: int
    is_timed_out: bool  # ended at the partition's time limit


@dataclass(slots=True)
class SimulationOutcome:
    """The outcome of a replay: jobs in the order of their start, and jobs that could never run, with the reason."""

    settings: SimulationSettings
    job_runs: list[JobRun] = field(default_factory=list)
    rejected_jobs: list[tuple[TraceJob, str]] = field(default_factory=list)
    moved: int = 0  # jobs of unknown partitions, which ran in the default one


def simulate(jobs: Sequence[TraceJob], settings: SimulationSettings) -> SimulationOutcome:
    """Replay jobs through the model of Slurm under the settings; jobs that could never run are in the outcome."""
    return _Slurm(settings).run(jobs)


class _Slurm:
    """The state of one replay: the time, pending and running jobs, hosts, limits and use."""

    def __init__(self, settings: SimulationSettings) -> None:
        self._settings, self._hosts, self._limits = settings, Hosts(settings), Limits(settings)
        self._tree = FairTree(settings.accounts, settings.half_life_s)
        self._factors: dict[tuple[str, str], float] = {}
        self._waiting: list[tuple[tuple[float, float, float, int], WaitingJob]] = []
        self._running: dict[int, tuple[WaitingJob, list[SimulatedHost], float]] = {}
        self._ends: list[tuple[float, int]] = []
        self._now = self._calculated = self._filled = float("-inf")
        self._changed = False
        self._charged: dict[int, float] = {}
        self._out = SimulationOutcome(settings)
        self._best = max((quality.priority for quality in settings.qualities.values()), default=0)

    def run(self, jobs: Sequence[TraceJob]) -> SimulationOutcome:
        for job in jobs:  # Slurm knows all users before they submit
            self._tree.add_user(job.team, job.user)
        coming = list(enumerate(jobs))[::-1]
        while coming or self._ends or (self._waiting and self._changed):
            self._now = self._next(coming)
            while self._ends and self._ends[0][0] <= self._now:
                self._end(heapq.heappop(self._ends)[1])
            while coming and coming[-1][1].submit <= self._now:
                self._submit(*coming.pop())
            self._calculate()
            self._main_pass()
            if self._changed and self._now >= self._filled + self._settings.backfill_s:
                self._backfill()
        self._out.rejected_jobs += [
            (waiting.job, _("the job is still pending when all other jobs have ended"))
            for _order, waiting in self._waiting
        ]
        return self._out

    def _next(self, coming: Sequence[tuple[int, TraceJob]]) -> float:
        """Return the time of the next event, not before now: a submission, an end, or a backfill pass after a change.

        `coming` is sorted latest first. There must be such an event.
        """
        moments = [coming[-1][1].submit] if coming else []
        moments += [self._ends[0][0]] if self._ends else []
        if self._changed and self._waiting:
            moments.append(self._filled + self._settings.backfill_s)
        return max(self._now, min(moments))

    def _submit(self, number: int, job: TraceJob) -> None:
        name = job.partition if job.partition in self._settings.queues else self._settings.default_queue
        self._out.moved += bool(job.partition) and name != job.partition
        queue = self._settings.queues[name]
        need = _need(job, queue, self._settings)
        reason = (
            "" if self._hosts.is_possible(need) else _("the job requests more than the simulated cluster has")
        )
        reason = reason or self._limits.rejection_reason(job, need, queue)
        if reason:
            self._out.rejected_jobs.append((job, reason))
            return
        waiting = WaitingJob(number, job, need, queue, self._limit(job, queue))
        waiting.priority = self._priority(waiting)
        insort(self._waiting, (waiting.order, waiting), key=lambda row: row[0])
        self._changed = True

    def _limit(self, job: TraceJob, queue: Queue) -> float:
        quality = self._settings.qualities.get(job.qos)
        most = min(queue.max_s, quality.max_s or queue.max_s) if quality else queue.max_s
        requested_s = job.limit_s if self._settings.has_time_limits else None
        return min(most, requested_s if requested_s is not None else queue.default_s)

    def _calculate(self) -> None:
        """Decay and charge the use, and compute all priorities, if CALC_S have passed since the last time.

        No effect with first in, first out.
        """
        if self._settings.fifo or self._now < self._calculated + CALC_S:
            return
        self._calculated = self._now
        self._tree.decay(self._now)
        for number in list(self._running):
            self._charge(number)
        self._factors = self._tree.factors()
        for _order, waiting in self._waiting:
            waiting.priority = self._priority(waiting)
        self._waiting = sorted(
            ((waiting.order, waiting) for _order, waiting in self._waiting), key=lambda row: row[0]
        )
        self._changed = self._changed or bool(self._waiting)

    def _priority(self, waiting: WaitingJob) -> float:
        if self._settings.fifo:
            return 0.0
        job, need, settings = waiting.job, waiting.need, self._settings
        quality = settings.qualities.get(job.qos)
        age = min(1.0, max(0.0, self._now - job.submit) / MAX_AGE_S)
        hosts = sum(len(kind.names) for kind in settings.kinds.values())
        size = (need.hosts / hosts + need.hosts * need.cpus / settings.cpus) / 2
        share = self._factors.get((job.team, job.user), 1.0)
        parts = {
            "qos": quality.priority / self._best if quality and self._best else 0.0,
            "fairshare": share,
            "age": age,
            "size": size,
        }
        return sum(WEIGHTS[name] * part for name, part in parts.items())

    def _main_pass(self) -> None:
        """Start jobs by priority; the first job for which hosts are lacking stops its partition.

        Jobs that a limit holds back are passed over.
        """
        full: set[str] = set()
        for row in list(self._waiting):
            waiting = row[1]
            if waiting.queue.name in full or not self._limits.now(waiting.job, waiting.need, waiting.queue):
                continue
            on = self._hosts.find_hosts(waiting.need)
            if on is None:
                full.add(waiting.queue.name)
                if len(full) == len(self._settings.queues):
                    return
                continue
            self._start(row, on)

    def _backfill(self) -> None:
        """Start jobs that fit now and delay no reservation of a job of higher priority; reserve hosts for others.

        At most `tests` jobs are tried, and MAX_RESERVATIONS made.
        """
        self._filled, self._changed = self._now, False
        if not self._hosts.free():
            return
        plan, reservations = PlacementPlan(self._hosts, self._now), 0
        hopeless: dict[
            Need, float
        ] = {}  # requests that did not fit, with their time limit: longer ones do not fit
        for row in self._waiting[: self._settings.tests]:
            waiting = row[1]
            if not self._limits.now(waiting.job, waiting.need, waiting.queue):
                continue
            end = self._now + waiting.limit_s
            if waiting.limit_s < hopeless.get(waiting.need, float("inf")):
                on = self._hosts.find_hosts(waiting.need, plan, end)
                if on is not None:
                    plan.allocate(on, waiting.need, self._now, end)
                    self._start(row, on)
                    continue
                hopeless[waiting.need] = waiting.limit_s
            if reservations < MAX_RESERVATIONS:
                reservations += (
                    plan.reserve(waiting.need, waiting.limit_s, self._settings.window_s) is not None
                )

    def _start(
        self, row: tuple[tuple[float, float, float, int], WaitingJob], on: list[SimulatedHost]
    ) -> None:
        waiting = row[1]
        self._waiting.remove(row)
        self._hosts.allocate(waiting.number, waiting.need, on, self._now + waiting.limit_s)
        self._limits.charge(waiting.job, waiting.need, waiting.queue)
        lasts_s = min(
            waiting.job.run_s, waiting.limit_s if self._settings.has_time_limits else waiting.queue.max_s
        )
        self._running[waiting.number] = (waiting, on, self._now)
        self._charged[waiting.number] = self._now
        heapq.heappush(self._ends, (self._now + lasts_s + self._settings.after_s, waiting.number))
        allocated_gpus = sum(host.gpus if waiting.need.is_exclusive else waiting.need.gpus for host in on)
        self._out.job_runs.append(
            JobRun(
                waiting.job,
                self._now,
                self._now + lasts_s,
                waiting.need.hosts * waiting.need.gpus,
                allocated_gpus,
                waiting.need.hosts * waiting.need.cpus,
                lasts_s < waiting.job.run_s,
            )
        )

    def _end(self, number: int) -> None:
        self._charge(number)
        waiting, on, _start = self._running.pop(number)
        self._hosts.release(number, on)
        self._limits.charge(waiting.job, waiting.need, waiting.queue, -1)
        self._changed = True

    def _charge(self, number: int) -> None:
        waiting = self._running[number][0]
        elapsed_s = self._now - self._charged[number]
        self._charged[number] = self._now
        self._tree.charge(waiting.job.team, waiting.job.user, elapsed_s * self._limits.billed(waiting.need))


def _need(job: TraceJob, queue: Queue, settings: SimulationSettings) -> Need:
    """Return a trace's job as a request on the simulated cluster's hosts.

    If these have fewer GPUs each, it is spread over more hosts. CPUs per host are reduced to those of the largest host.
    """
    kinds = tuple(key for key in queue.kinds if settings.kinds[key].gpus or not job.gpus)
    gpus = max((settings.kinds[key].gpus for key in kinds), default=0)
    cpus = max((settings.kinds[key].cpus for key in kinds), default=1)
    hosts, gpus_per_host, used = job.hosts, job.gpus, job.cpus
    if gpus_per_host > gpus > 0:
        hosts = -(-job.hosts * job.gpus // gpus)
        gpus_per_host, used = gpus, -(-job.hosts * job.cpus // hosts)
    return Need(hosts, gpus_per_host, max(1, min(used, cpus)), queue.exclusive, kinds)
