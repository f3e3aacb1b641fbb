"""One look at the cluster: Slurm's hosts and jobs, the checks of hosts, and why jobs have failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from clusterwright.check import Verdict, run
from clusterwright.check.verdict import Status
from clusterwright.config.cluster import Cluster
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.errors import WrightError
from clusterwright.heal.moment import Moment
from clusterwright.heal.observation import Finding, HostStatus, JobStatus, Observation
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
from clusterwright.slurm import client

MOST_JOBS = 5  # failed ones that are looked into at one look: each costs a second or two
_MOST_RECORDS = 64
_MUTE = ("ssh", "munge_on_host", "services:munge.service")

Slurms = tuple[dict[str, HostStatus], dict[str, JobStatus]]
Why = Callable[[str], Iterable[Finding]]
Check = Callable[[tuple[str, ...]], list[Verdict]]


@cache
def required_checks() -> tuple[str, ...]:
    """The checks that a rule answers or is proven by: the others, importing torch among them, cost and tell nothing."""
    named = {code.partition(":")[0] for rule in rules() for code in rule.answers.get("check", ())}
    return tuple(sorted(named.union(*(rule.proof for rule in rules()))))


def checks_of(cluster: Cluster, remote: Remote) -> Check:
    """Those checks, over ssh."""
    return lambda hosts: run(cluster, remote, hosts=hosts, only=required_checks())


@dataclass(frozen=True, slots=True)
class Gatherer:
    """How a look is made; `why` says what the end of a job tells of hosts."""

    cluster: Cluster
    remote: Remote
    check: Check
    why: Why

    def slurm(self) -> Slurms | None:
        """Hosts and jobs; None where slurmctld does not answer, which is not the same as none."""
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
        """Everything; of hosts, these are checked and those that Slurm has out, and of jobs, these ended ones."""
        nodes, jobs = slurm_status or ({}, {})
        powered_down = {name for name, node in nodes.items() if node.state.is_power_saving}
        out = (name for name, node in nodes.items() if node.out)
        chosen = tuple(dict.fromkeys(host for host in (*hosts, *out) if host not in powered_down))
        verdicts = self.check(chosen) if chosen else []
        findings = silenced([*findings_of(nodes.values()), *of_verdicts(verdicts)])
        for job in ended:
            findings += self._findings_of_job(job)
        sick = {finding.host for finding in findings}
        return Observation(
            now,
            slurm_status is not None,
            nodes,
            self._add_records(jobs, sick),
            tuple(findings),
            passed(verdicts, chosen),
        )

    def _findings_of_job(self, job: str) -> list[Finding]:
        try:
            return list(self.why(job))
        except WrightError:  # its logs cannot be had: others will tell
            return []

    def _add_records(self, jobs: Mapping[str, JobStatus], sick: set[str]) -> dict[str, JobStatus]:
        """Jobs on hosts that are sick, and those that wait again, with Slurm's record of each."""
        matter = [job.id for job in jobs.values() if job.state == "RUNNING" and sick.intersection(job.hosts)]
        merged = dict(jobs)
        for name in matter[:_MOST_RECORDS]:
            command = client.line(client.show_job(name))
            result = Host(self.remote, self.cluster.control.name).run(command)
            merged[name] = with_record(jobs[name], result.out) if result.ok else jobs[name]
        return merged


def silenced(findings: list[Finding]) -> list[Finding]:
    """That slurmctld does not hear a host says nothing more where it answers no ssh, or where its munge is broken.

    The fix is another one then: slurmd started anew would be as mute.
    """
    mute = {finding.host for finding in findings if finding.code in _MUTE}
    return [finding for finding in findings if finding.code != "not-heard" or finding.host not in mute]


def failed_jobs(jobs: Iterable[JobStatus]) -> tuple[str, ...]:
    """Those that ended in a way that hosts may be to blame for."""
    return tuple(job.id for job in jobs if job.state in ENDED_BADLY)


def of_verdicts(verdicts: Iterable[Verdict]) -> Iterable[Finding]:
    """What failed, by the check's name and each of its codes, such as a service's unit."""
    for verdict in verdicts:
        if verdict.status is Status.FAIL:
            text = f"{verdict.check}{f' ({verdict.part})' if verdict.part else ''}: {verdict.observed}"
            for code in [f"{verdict.check}:{suffix}" for suffix in verdict.codes] or [verdict.check]:
                yield Finding(verdict.subject, "check", code, text, verdict.part)


def passed(verdicts: Iterable[Verdict], hosts: Iterable[str]) -> dict[str, frozenset[str]]:
    """By host that was checked, what found nothing wrong: what could not be seen is not among it."""
    every = frozenset(required_checks())
    wrong: dict[str, set[str]] = {host: set() for host in hosts}
    for verdict in verdicts:
        if verdict.status in (Status.FAIL, Status.UNKNOWN):
            wrong.setdefault(verdict.subject, set()).add(verdict.check)
    return {host: every - wrong[host] for host in wrong}
