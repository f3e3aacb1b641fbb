"""Check hosts from inside a Slurm job of the user, on a cluster that Clusterwright did not build and without root."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clusterwright.check.bench.bench_job import READER, HostRequest, Hosts, choose, reserve_hosts
from clusterwright.check.bench.stage import Stage, StageAnswer, StagedPart
from clusterwright.check.expectation import Check, Occasion, skip, unknown
from clusterwright.check.fact import HostSpec, Permission
from clusterwright.check.judging import judge
from clusterwright.check.reading import (
    DEADLINE_S,
    HostReach,
    Reading,
    answer_of,
    read,
    request,
    request_document,
)
from clusterwright.check.registry import choose as choose_checks
from clusterwright.check.runner import GRACE_S, facts_by_host, needed, values_of
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.edge.bundler import FACTS
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.i18n import _

JOB_NAME = "wright-check"
LIMIT_S = 600  # ours: the readers have 130 s; the rest is for prologs and slow file servers
_READS = "python_agent"  # the check that tells whether the fact reader ran on a host


@dataclass(frozen=True, slots=True)
class JobChecks:
    """The verdicts of a check, the job that read the facts, and the hosts that it did not try, with the reasons."""

    job: str
    verdicts: tuple[Verdict, ...]
    skip_reasons: Mapping[str, str]


def run_in_job(
    cluster: Cluster,
    remote: Remote,
    host_request: HostRequest,
    *,
    only: Iterable[str] = (),
    on: Occasion = "deploy",
    log: Callable[[str], None] = lambda _text: None,
    clock: Clock | None = None,
) -> JobChecks:
    """Run the checks as a user's job: read the facts on each of its hosts, and return the verdicts.

    Slurm's own view is read on the login host. The job is canceled in any case, also by Ctrl-C.

    Raises:
        WrightError: `no-such-check`; no host is free in time; Slurm rejects the job, or the login host does not answer.
    """
    clock = clock or SystemClock()
    checks = choose_checks(only, on)
    judged = [check for check in checks if check.in_jobs]
    hosts = choose(cluster, remote, host_request, clock)
    checked_hosts = hosts.free
    counted = with_allocated_gpus(cluster, checked_hosts, host_request)
    with reserve_hosts(cluster, remote, checked_hosts, host_request, clock, log) as stage:
        log(_("job {job} runs on {hosts}", job=stage.job, hosts=fold(list(checked_hosts))))
        readings = read_hosts(counted, stage, judged)
    readings[cluster.control.name] = _read_login(counted, remote, judged, readings)
    skip_reasons = _skip_reasons(hosts)
    subjects = {cluster.name, *checked_hosts, *skip_reasons}
    verdicts = [
        *(verdict for verdict in judge(counted, judged, readings) if verdict.subject in subjects),
        *_not_read(checked_hosts, readings),
        *(replace(skip(reason, subject=host), check=_READS) for host, reason in skip_reasons.items()),
    ]
    return JobChecks(
        stage.job, (*_skip_without_permission(verdicts, judged), *_not_judged(cluster, checks)), skip_reasons
    )


def with_allocated_gpus(cluster: Cluster, hosts: Sequence[str], host_request: HostRequest) -> Cluster:
    """Return the cluster with the GPUs that the job sees on its hosts: those of a whole host, else those requested."""
    if host_request.allocation.is_exclusive:
        return cluster
    count, groups = host_request.allocation.gpus, {cluster.host(name).group_name for name in hosts}
    nodes = {
        name: group.model_copy(
            update={"gpus": group.gpus.model_copy(update={"count": count}) if count else None}
        )
        if name in groups and group.gpus
        else group
        for name, group in cluster.nodes.items()
    }
    access = cluster.unmanaged
    changed = cluster.model_copy(update={"nodes": nodes})
    return changed.as_unmanaged(access) if access else changed


def read_hosts(cluster: Cluster, stage: Stage, checks: Sequence[Check]) -> dict[str, Reading]:
    """Read the facts of the checks on all hosts of a stage at the same time; lost hosts have no reading."""
    specs = {name: HostSpec(cluster, cluster.host(name)) for name in stage.hosts}
    facts = {name: needed(checks, spec, second=False) for name, spec in specs.items()}
    parts = {
        name: StagedPart(READER, request_document(facts[name], spec, {}), DEADLINE_S + GRACE_S)
        for name, spec in specs.items()
    }
    answers = stage.do(parts)
    return {name: _reading(answers[name], facts[name], specs[name]) for name in answers}


def _reading(answer: StageAnswer, facts: Sequence[Any], spec: HostSpec) -> Reading:
    document = answer_of(answer.out)
    if document is None:
        return Reading(
            HostReach(
                fault=answer.reason or _("the program that reads the host (fact reader) printed no result")
            )
        )
    return Reading(HostReach(python=document["python"]), read(facts, document, spec))


def _read_login(
    cluster: Cluster, remote: Remote, checks: Sequence[Check], readings: Mapping[str, Reading]
) -> Reading:
    """Read on the login host what only Slurm's commands show, and what compares the hosts.

    If its output has no answer, the reading has only the last line of the output as error.
    """
    spec = HostSpec(cluster, cluster.control)
    of_slurm = [
        check
        for check in checks
        if not any(check.when(HostSpec(cluster, host)) for host in cluster.hosts("compute")[:1])
    ]
    first_facts, second_facts = needed(of_slurm, spec, second=False), needed(checks, spec, second=True)
    stdin = request((*first_facts, *second_facts), spec, facts_by_host(second_facts, readings))
    result = Host(remote, cluster.control.name).run_program(
        FACTS, stdin=stdin, timeout_s=DEADLINE_S + GRACE_S
    )
    answer = answer_of(result.out)
    if answer is None:
        return Reading(HostReach(error=result.last_lines(1) or _("(no output)")))
    reading = Reading(HostReach(python=answer["python"]), read((*first_facts, *second_facts), answer, spec))
    return replace(reading, facts={**reading.facts, **values_of(second_facts, reading)})


def _skip_reasons(hosts: Hosts) -> dict[str, str]:
    reasons = {
        host: _("the host was not checked: its node is {state} in Slurm", state=state)
        for host, state in hosts.unavailable.items()
    }
    return reasons | dict.fromkeys(
        hosts.busy, _("the host was not checked, because it is allocated to a job")
    )


def _not_read(checked_hosts: Sequence[str], readings: Mapping[str, Reading]) -> Iterator[Verdict]:
    for host in checked_hosts:
        if host not in readings:
            reason = _("the host sent no result in the Slurm job of the check")
            yield replace(unknown(reason, subject=host), check=_READS)


def _permission_text(permission: Permission) -> str:
    return (
        {"root": _("root"), "journal": _("root or the group systemd-journal")}[permission]
        if permission
        else ""
    )


def _skip_without_permission(verdicts: Iterable[Verdict], checks: Iterable[Check]) -> Iterator[Verdict]:
    """Turn `unknown` into `skipped` where a fact of the check needs a permission, which the observed text names."""
    permissions = {check.id: _permission_of(check) for check in checks}
    for verdict in verdicts:
        permission = permissions.get(verdict.check, "")
        if verdict.status is Status.UNKNOWN and permission:
            reason = _(
                "the check needs {right} on the host: {reason}",
                right=_permission_text(permission),
                reason=verdict.observed,
            )
            yield replace(verdict, status=Status.SKIPPED, observed=reason, expected="", fix="")
        else:
            yield verdict


def _permission_of(check: Check) -> Permission:
    return next((fact.permission for fact in check.needs if fact.permission), "")


def _not_judged(cluster: Cluster, checks: Iterable[Check]) -> Iterator[Verdict]:
    for check in checks:
        if not check.in_jobs:
            permission = _permission_text(_permission_of(check))
            reason = (
                _("the check needs {right} on the host", right=permission)
                if permission
                else _("the check compares the hosts with a cluster file, and none was given")
            )
            yield replace(skip(reason, subject=cluster.name), check=check.id)
