"""From what the hosts said to verdicts; pure. A fact that is missing makes `unknown`, never `ok`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusterwright.check.expectation import Answer, Check, skip, unknown
from clusterwright.check.fact import Missing, Want
from clusterwright.check.reading import Reading
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster

_SEEN = (Status.OK, Status.WARN, Status.FAIL)
_LEAST = 2  # ours: one host says nothing of the others


def sided(each: Check, cluster: Cluster, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The same verdicts; one that all hosts of a group share names the field of the file that may be mistaken."""
    if not each.field:
        return list(verdicts)
    groups = {host.name: host.group_name for host in cluster.hosts()}
    alike = _alike(verdicts, groups)
    return [
        replace(verdict, mend=_mend(each, verdict, groups[verdict.subject], alike[_key(verdict, groups)]))
        if _key(verdict, groups) in alike
        else verdict
        for verdict in verdicts
    ]


Key = tuple[str, str, str]


def _key(verdict: Verdict, groups: dict[str, str]) -> Key:
    return (groups.get(verdict.subject, ""), verdict.part, verdict.saw)


def _alike(verdicts: Iterable[Verdict], groups: dict[str, str]) -> dict[Key, int]:
    """What every host of a group that was seen fails by, in the same words; and how many hosts that are."""
    seen: dict[str, set[str]] = {}
    failed: dict[Key, set[str]] = {}
    for verdict in verdicts:
        if verdict.subject in groups and verdict.status in _SEEN:
            seen.setdefault(groups[verdict.subject], set()).add(verdict.subject)
        if verdict.status is Status.FAIL:
            failed.setdefault(_key(verdict, groups), set()).add(verdict.subject)
    return {
        key: len(hosts) for key, hosts in failed.items() if len(hosts) >= _LEAST and hosts == seen.get(key[0])
    }


def _mend(each: Check, verdict: Verdict, group: str, hosts: int) -> str:
    field = each.field.format(group=group, part=verdict.part)
    alike = f"all {hosts} hosts of `{group}` are so"
    return f"{alike}: if that is what was bought, correct `{field}` in the cluster file; else {verdict.mend}"


def judge(cluster: Cluster, checks: Iterable[Check], readings: Mapping[str, Reading]) -> list[Verdict]:
    """Every verdict of every check on the hosts that were read, in the order of the checks."""
    wants = {host.name: Want(cluster, host) for host in cluster.hosts() if host.name in readings}
    found: list[Verdict] = []
    for each in checks:
        concerned = {name: want for name, want in wants.items() if each.when(want)}
        skipped = {name: why for name, want in concerned.items() if (why := each.unless(want))}
        found += _named(each, (skip(why, subject=name) for name, why in skipped.items()), cluster.name)
        concerned = {name: want for name, want in concerned.items() if name not in skipped}
        seen = (
            _together(each, cluster, concerned, readings)
            if each.together
            else _apart(each, concerned, readings)
        )
        found += sided(each, cluster, list(seen))
    return found


def _apart(each: Check, wants: Mapping[str, Want], readings: Mapping[str, Reading]) -> Iterator[Verdict]:
    for name, want in wants.items():
        values = [readings[name].of(needed) for needed in each.needs]
        why = next((value.why for value in values if isinstance(value, Missing)), None)
        answer = each.judge(want, *values) if why is None else unknown(why)
        yield from _named(each, answer, name)


def _together(
    each: Check, cluster: Cluster, wants: Mapping[str, Want], readings: Mapping[str, Reading]
) -> Iterator[Verdict]:
    columns: list[dict[str, Any]] = []
    missing: dict[str, str] = {}
    for needed in each.needs:
        names = [cluster.control.name] if needed.after else list(wants)
        values = {name: readings[name].of(needed) for name in names if name in readings}
        missing |= {name: value.why for name, value in values.items() if isinstance(value, Missing)}
        columns.append({name: value for name, value in values.items() if not isinstance(value, Missing)})
    if all(columns):
        yield from _named(each, each.judge(cluster, *columns), cluster.name)
    yield from _named(each, (unknown(why, subject=name) for name, why in missing.items()), cluster.name)


def _named(each: Check, answer: Answer, subject: str) -> Iterator[Verdict]:
    for verdict in [answer] if isinstance(answer, Verdict) else answer:
        due = verdict.status in (
            Status.WARN,
            Status.FAIL,
        )  # what could not be seen has no mend of the check's
        mend = verdict.mend or (each.mend if due else "")
        yield replace(verdict, subject=verdict.subject or subject, check=each.id, mend=mend)
