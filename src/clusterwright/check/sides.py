"""Which side is wrong: where all hosts of a group differ from the cluster file alike, it is rather the file; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from clusterwright.check.expectation import Check
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
