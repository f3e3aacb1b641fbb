"""Limits of teams, users, QOS and head-room on running jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusterwright.i18n import _
from clusterwright.monitor.simulate.hosts import Need
from clusterwright.monitor.simulate.settings import Account, Quality, Queue, SimulationSettings
from clusterwright.monitor.simulate.trace import TraceJob
from clusterwright.provision.render.slurm_nodes import GPU_BILLED

Key = tuple[str, ...]


class Limits:
    """The use of running jobs that counts against each limit: GPUs, jobs and billing units."""

    def __init__(self, settings: SimulationSettings) -> None:
        self._settings = settings
        self._usage: Counter[Key] = Counter()

    def rejection_reason(self, job: TraceJob, need: Need, queue: Queue) -> str:
        """Return why the limits never allow the job to run, whatever else runs; empty if they can."""
        quality = self._settings.qualities.get(job.qos)
        if quality and quality.max_gpus_per_job is not None and _gpus(need) > quality.max_gpus_per_job:
            return _("the job requests more GPUs than QOS {qos} allows one job", qos=job.qos)
        for key, amount, most in self._rules(job, need, queue):
            if amount > most:
                return _("the job requests more than the limit of {limit}", limit="/".join(key))
        return ""

    def now(self, job: TraceJob, need: Need, queue: Queue) -> bool:
        """Return whether the limits allow the job to start now, in addition to the jobs that were charged."""
        return all(self._usage[key] + amount <= most for key, amount, most in self._rules(job, need, queue))

    def charge(self, job: TraceJob, need: Need, queue: Queue, sign: int = 1) -> None:
        """Add the job's amounts to the use of each limit on it when it starts; with sign -1 subtract them."""
        for key, amount, _most in self._rules(job, need, queue):
            self._usage[key] += sign * amount

    def _rules(self, job: TraceJob, need: Need, queue: Queue) -> Iterator[tuple[Key, int, float]]:
        """Yield (key, the job's amount, limit) for each limit that applies to a job.

        They are those of its partition, QOS, teams and their users. A QOS limit on GPUs overrides that of the team or
        user.
        """
        gpus = _gpus(need)
        if queue.most_billed is not None:
            yield ("head-room", queue.name), self.billed(need), queue.most_billed
        quality = self._settings.qualities.get(job.qos)
        yield from _of_quality(job, gpus, quality)
        for account in self._above(job.team):
            # A QOS limit on GPUs overrides that of the team.
            if account.max_gpus is not None and not (quality and quality.max_gpus is not None):
                yield ("team", account.name, "GPUs"), gpus, account.max_gpus
            if account.max_jobs is not None:
                yield ("team", account.name, "jobs"), 1, account.max_jobs
        team_account = self._settings.accounts.get(job.team)
        if (
            team_account
            and team_account.max_gpus_per_user is not None
            and not (quality and quality.max_gpus_per_user is not None)
        ):
            yield ("user", job.team, job.user), gpus, team_account.max_gpus_per_user

    def billed(self, need: Need) -> int:
        """Return billing units by MAX_TRES: per host the larger of its GPUs and the GPUs whose share of CPUs it uses.

        Of several kinds of hosts, the dearest counts.
        """
        most = 0.0
        for key in need.kinds:
            kind = self._settings.kinds[key]
            gpus, cpus = (kind.gpus, kind.cpus) if need.is_exclusive else (need.gpus, need.cpus)
            by_cpu = cpus * kind.gpus / kind.cpus if kind.gpus else cpus / kind.cpus
            most = max(most, gpus, by_cpu)
        return int(most * need.hosts * GPU_BILLED)

    def _above(self, team: str) -> Iterator[Account]:
        while team in self._settings.accounts:
            yield self._settings.accounts[team]
            team = self._settings.accounts[team].parent


def _of_quality(job: TraceJob, gpus: int, quality: Quality | None) -> Iterator[tuple[Key, int, float]]:
    if quality is None:
        return
    if quality.max_gpus is not None:
        yield ("qos", job.qos), gpus, quality.max_gpus
    if quality.max_gpus_per_user is not None:
        yield ("qos", job.qos, job.user, "GPUs"), gpus, quality.max_gpus_per_user
    if quality.max_jobs_per_user is not None:
        yield ("qos", job.qos, job.user, "jobs"), 1, quality.max_jobs_per_user


def _gpus(need: Need) -> int:
    return need.hosts * need.gpus
