"""Verdicts from the facts of all hosts; pure. A missing fact makes a verdict `unknown`, never `ok`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusterwright.check.expectation import Answer, Check, skip, unknown
from clusterwright.check.fact import HostSpec, Missing
from clusterwright.check.reading import Reading
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _

_CONCLUSIVE = (Status.OK, Status.WARN, Status.FAIL)
_LEAST = 2  # ours: one host proves nothing about its group


def sided(check: Check, cluster: Cluster, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts; where all hosts of a group fail alike, the fix also names the cluster file's field.

    Unchanged if the check has no field, and for a cluster that wright does not manage.
    """
    if not check.field or cluster.unmanaged:
        return list(verdicts)
    groups = {host.name: host.group_name for host in cluster.hosts()}
    alike = _alike(verdicts, groups)
    return [
        replace(verdict, fix=_fix(check, verdict, groups[verdict.subject], alike[_key(verdict, groups)]))
        if _key(verdict, groups) in alike
        else verdict
        for verdict in verdicts
    ]


Key = tuple[str, str, str]


def _key(verdict: Verdict, groups: dict[str, str]) -> Key:
    return (groups.get(verdict.subject, ""), verdict.part, verdict.observed)


def _alike(verdicts: Iterable[Verdict], groups: dict[str, str]) -> dict[Key, int]:
    """Return the failures that all readable hosts of a group share, at least two, with the number of hosts."""
    hosts_by_group: dict[str, set[str]] = {}
    failed: dict[Key, set[str]] = {}
    for verdict in verdicts:
        if verdict.subject in groups and verdict.status in _CONCLUSIVE:
            hosts_by_group.setdefault(groups[verdict.subject], set()).add(verdict.subject)
        if verdict.status is Status.FAIL:
            failed.setdefault(_key(verdict, groups), set()).add(verdict.subject)
    return {
        key: len(hosts)
        for key, hosts in failed.items()
        if len(hosts) >= _LEAST and hosts == hosts_by_group.get(key[0])
    }


def _fix(check: Check, verdict: Verdict, group: str, hosts: int) -> str:
    field = check.field.format(group=group, part=verdict.part)
    return _(
        "all {count} hosts of `{group}` have this: if the hardware is right, correct `{field}`; else {fix}",
        count=hosts,
        group=group,
        field=field,
        fix=verdict.fix,
    )


def judge(cluster: Cluster, checks: Iterable[Check], readings: Mapping[str, Reading]) -> list[Verdict]:
    """Judge every check by the readings of the hosts; return the verdicts in the order of the checks.

    Hosts without a reading have none; a host that a check skips has a verdict with the reason.
    """
    specs = {host.name: HostSpec(cluster.on(host), host) for host in cluster.hosts() if host.name in readings}
    verdicts: list[Verdict] = []
    for check in checks:
        concerned = {name: spec for name, spec in specs.items() if check.when(spec)}
        skipped = {name: reason for name, spec in concerned.items() if (reason := check.unless(spec))}
        verdicts += _named(
            check, (skip(reason, subject=name) for name, reason in skipped.items()), cluster.name
        )
        concerned = {name: spec for name, spec in concerned.items() if name not in skipped}
        answers = (
            _cluster_wide(check, cluster, concerned, readings)
            if check.cluster_wide
            else _per_host(check, concerned, readings)
        )
        verdicts += sided(check, cluster, list(answers))
    return verdicts


def _per_host(
    check: Check, specs: Mapping[str, HostSpec], readings: Mapping[str, Reading]
) -> Iterator[Verdict]:
    for name, spec in specs.items():
        values = [readings[name].fact_value(needed) for needed in check.needs]
        reason = next((value.reason for value in values if isinstance(value, Missing)), None)
        answer = check.judge(spec, *values) if reason is None else unknown(reason)
        yield from _named(check, answer, name)


def _cluster_wide(
    check: Check, cluster: Cluster, specs: Mapping[str, HostSpec], readings: Mapping[str, Reading]
) -> Iterator[Verdict]:
    columns: list[dict[str, Any]] = []
    missing: dict[str, str] = {}
    for needed in check.needs:
        names = [cluster.control.name] if needed.depends_on else list(specs)
        values = {name: readings[name].fact_value(needed) for name in names if name in readings}
        missing |= {name: value.reason for name, value in values.items() if isinstance(value, Missing)}
        columns.append({name: value for name, value in values.items() if not isinstance(value, Missing)})
    if all(columns):
        yield from _named(check, check.judge(cluster, *columns), cluster.name)
    yield from _named(
        check, (unknown(reason, subject=name) for name, reason in missing.items()), cluster.name
    )


def _named(check: Check, answer: Answer, subject: str) -> Iterator[Verdict]:
    for verdict in [answer] if isinstance(answer, Verdict) else answer:
        due = verdict.status in (Status.WARN, Status.FAIL)  # the check's fix does not apply to `unknown`
        fix = verdict.fix or (_(check.fix) if due else "")
        yield replace(verdict, subject=verdict.subject or subject, check=check.id, fix=fix)
