"""One poll of the cluster: Slurm's nodes and jobs, the checks of hosts, and the diagnoses of failed jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from clusterwright.check import Verdict, run
from clusterwright.check.verdict import Status
from clusterwright.config.cluster import Cluster
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.heal.loop.diagnosis_time import DiagnosisTime
from clusterwright.heal.moment import Moment
from clusterwright.heal.observation import FaultFinding, HostStatus, JobStatus, Observation
from clusterwright.heal.rule import rules
from clusterwright.heal.slurm_text import (
    ENDED_BADLY,
    JOBS,
    NODES,
    findings_of,
    jobs_of,
    nodes_of,
    with_record,
)
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS
from clusterwright.slurm import client

MOST_JOBS = 5  # failed jobs diagnosed per poll, each of another user; each takes a second or two
_MOST_RECORDS = 64
_MUTE = ("ssh", "munge_on_host", "services:munge.service")

Slurms = tuple[dict[str, HostStatus], dict[str, JobStatus]]
Why = Callable[[str, float], Iterable[FaultFinding]]  # of a job, whose files are read for these seconds
Check = Callable[[tuple[str, ...]], list[Verdict]]


@cache
def required_checks() -> tuple[str, ...]:
    """Return the checks that rules handle or require as proof; others, such as importing torch, only cost time."""
    named = {code.partition(":")[0] for rule in rules() for code in rule.answers.get("check", ())}
    return tuple(sorted(named.union(*(rule.proof for rule in rules()))))


def checks_of(cluster: Cluster, remote: Remote) -> Check:
    """Return a function that runs, over SSH on the hosts given to it, the checks that self-healing requires."""
    return lambda hosts: run(cluster, remote, hosts=hosts, only=required_checks())


@dataclass(frozen=True, slots=True)
class Gatherer:
    """Polls the cluster: Slurm's nodes and jobs, and checks of hosts; `reason` diagnoses a failed job."""

    cluster: Cluster
    remote: Remote
    check: Check
    reason: Why
    log: Callable[[str], None] = lambda _text: None
    diagnosis_time: DiagnosisTime = field(default_factory=DiagnosisTime)

    def slurm(self) -> Slurms | None:
        """Return nodes and jobs; None if slurmctld or its host does not respond."""
        script = f"timeout 30 {NODES} && echo @@ && timeout 30 {JOBS}"
        result = Host(self.remote, self.cluster.control.name).run_root(script, timeout_s=90)
        text, separator, queue = result.out.partition("@@\n")
        if not result.ok or not separator:
            return None
        jobs = jobs_of(queue)
        return nodes_of(text, jobs), jobs

    def observe(
        self, now: Moment, hosts: Iterable[str], ended: Iterable[str], slurm_status: Slurms | None
    ) -> Observation:
        """Poll everything: check `hosts` and the nodes that are out, and diagnose the jobs in `ended`.

        Powered-down nodes are not checked. `slurm_status` None: slurmctld does not respond.
        """
        nodes, jobs = slurm_status or ({}, {})
        powered_down = {name for name, node in nodes.items() if node.state.is_power_saving}
        out = (name for name, node in nodes.items() if node.out)
        chosen = tuple(dict.fromkeys(host for host in (*hosts, *out) if host not in powered_down))
        verdicts = self.check(chosen) if chosen else []
        findings = without_futile_restarts([*findings_of(nodes.values()), *of_verdicts(verdicts)])
        ended_jobs = [jobs.get(job, JobStatus(job, "")) for job in ended]
        self.diagnosis_time.begin_poll(len(ended_jobs))
        for job in ended_jobs:
            findings += self._claims_of_job(job)
        sick = {finding.host for finding in findings}
        return Observation(
            now,
            slurm_status is not None,
            nodes,
            self._add_records(jobs, sick),
            tuple(findings),
            passed(verdicts, chosen),
        )

    def _claims_of_job(self, job: JobStatus) -> list[FaultFinding]:
        """Return the faults of hosts that the job's logs report, for hosts that the job had by Slurm's own record.

        Empty, with a line in the log, if its logs are unreadable or its user's time is used up.
        """
        try:
            with self.diagnosis_time.charge(job.user) as seconds:
                findings = list(self.reason(job.id, seconds))
        except (WrightError, *DATA_ERRORS) as error:  # its logs are unreadable; checks provide evidence
            self.log(f"job {job.id} of {job.user}: no diagnosis: {type(error).__name__}: {error}")
            return []
        return [
            replace(finding, source="diagnosis", job=job.id, user=job.user)
            for finding in findings
            if finding.host in job.hosts
        ]

    def _add_records(self, jobs: Mapping[str, JobStatus], sick: set[str]) -> dict[str, JobStatus]:
        """Return all jobs, with Slurm's records added to running jobs on faulty hosts, to at most _MOST_RECORDS."""
        matter = [job.id for job in jobs.values() if job.state == "RUNNING" and sick.intersection(job.hosts)]
        merged = dict(jobs)
        for name in matter[:_MOST_RECORDS]:
            command = client.line(client.show_job(name))
            result = Host(self.remote, self.cluster.control.name).run(command)
            merged[name] = with_record(jobs[name], result.out) if result.ok else jobs[name]
        return merged


def without_futile_restarts(findings: list[FaultFinding]) -> list[FaultFinding]:
    """Drop `not-heard` findings of hosts without SSH or with a broken munge: restarting slurmd would not help."""
    mute = {finding.host for finding in findings if finding.code in _MUTE}
    return [finding for finding in findings if finding.code != "not-heard" or finding.host not in mute]


def failed_jobs(jobs: Iterable[JobStatus]) -> tuple[JobStatus, ...]:
    """Return the jobs that ended in a way that a host may have caused (ENDED_BADLY)."""
    return tuple(job for job in jobs if job.state in ENDED_BADLY)


def first_job_of_users(jobs: Iterable[JobStatus]) -> tuple[str, ...]:
    """Return the first job of each user, at most MOST_JOBS: the jobs of one user delay those of no other."""
    firsts = {job.user: job.id for job in reversed(tuple(jobs))}
    return tuple(reversed(firsts.values()))[:MOST_JOBS]


def of_verdicts(verdicts: Iterable[Verdict]) -> Iterable[FaultFinding]:
    """Yield a finding for each code of a failed check, such as the unit of a service; one for a check without codes."""
    for verdict in verdicts:
        if verdict.status is Status.FAIL:
            text = f"{verdict.check}{f' ({verdict.part})' if verdict.part else ''}: {verdict.observed}"
            for code in [f"{verdict.check}:{suffix}" for suffix in verdict.codes] or [verdict.check]:
                yield FaultFinding(verdict.subject, "check", code, text, verdict.part)


def passed(verdicts: Iterable[Verdict], hosts: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return by host the required checks that did not fail: all but those with a failed or unknown verdict.

    Checks with a warning, skipped, or without a verdict count as passed.
    """
    every = frozenset(required_checks())
    wrong: dict[str, set[str]] = {host: set() for host in hosts}
    for verdict in verdicts:
        if verdict.status in (Status.FAIL, Status.UNKNOWN):
            wrong.setdefault(verdict.subject, set()).add(verdict.check)
    return {host: every - wrong[host] for host in wrong}
