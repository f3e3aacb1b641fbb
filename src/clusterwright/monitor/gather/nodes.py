"""Nodes of scontrol's answer, with what Prometheus knows of their GPUs; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.check.drains import drain
from clusterwright.edge.slurm import parse_job
from clusterwright.monitor.gather.slurm_text import gpu_type, gpus, number, whole, word
from clusterwright.monitor.picture import Gpu, Node

MIB = 2**20
Measures = Mapping[str, Mapping[str, Mapping[str, Any]]]

# What a node's state says beside its base, in scontrol's words and in the signs of releases before 21.08.
_DRAINED = re.compile(r"DRAIN|FAIL\b")
_ABOVE = (  # the first that is there is what a person wants to know
    (re.compile(r"POWERED_DOWN|POWERING_DOWN|POWER_DOWN|~|%"), "powered_down"),
    (re.compile(r"POWERING_UP|POWER_UP|#"), "powering_up"),
    (re.compile(r"REBOOT|@|\^"), "rebooting"),
    (re.compile(r"NOT_RESPONDING|\*"), "not_responding"),
    (re.compile(r"MAINT"), "maint"),
)
_IDLE = (
    (re.compile(r"COMPLETING"), "completing"),
    (re.compile(r"RESERVED"), "reserved"),
    (re.compile(r"PLANNED|-$"), "planned"),
)
_SINCE = re.compile(r"@(\d+)\]\s*$")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands and how many GPUs it has, by the cluster file."""

    group: str = ""
    leaf: str = ""
    gpus: int = 0
    model: str = ""


def nodes(
    text: str, places: Mapping[str, Place], measures: Measures, jobs: Mapping[str, tuple[str, ...]],
    ids: Mapping[str, str],
) -> tuple[Node, ...]:  # fmt: skip
    """Those that Slurm has; `jobs` are ids by node, and `ids` the id that people know of each of Slurm's numbers."""
    return tuple(
        _node(parse_job(line), places, measures, jobs, ids)
        for line in text.splitlines()
        if line.startswith("NodeName=")
    )


def unheard(places: Mapping[str, Place], measures: Measures) -> tuple[Node, ...]:
    """The cluster file's nodes where Slurm does not answer: their states are not known."""
    return tuple(
        Node(name, "unknown", place.group, leaf=place.leaf, gpus_total=len(found), gpus=found)
        for name, place in places.items()
        for found in [tuple(_gpus(name, place.gpus, place.model, measures, {}))]
    )


def state(text: str) -> tuple[str, bool]:
    """The state as the picture names it, and whether the node is drained: `IDLE+DRAIN`, `DOWN*`."""
    found = re.match(r"[A-Za-z_]+", text)
    base = found[0].lower() if found else "unknown"
    drained = bool(_DRAINED.search(text))
    if base in ("draining", "drained", "fail", "failing"):
        base = "idle"
    if base == "down":
        return base, drained
    above = next((name for sign, name in _ABOVE if sign.search(text)), "")
    if not above and base == "idle":
        above = next((name for sign, name in _IDLE if sign.search(text)), "")
    return above or base, drained


def _node(
    row: Mapping[str, str], places: Mapping[str, Place], measures: Measures,
    jobs: Mapping[str, tuple[str, ...]], ids: Mapping[str, str],
) -> Node:  # fmt: skip
    name = row["NodeName"]
    place = places.get(name, Place())
    base, drained = state(row.get("State", ""))
    gres = word(row.get("Gres", ""))
    total = gpus(row.get("CfgTRES", ""), gres)
    memory, free = whole(row.get("RealMemory")), number(row.get("FreeMem"))
    by, why, since = _out(name, row.get("Reason", ""))
    return Node(
        name, base, place.group, tuple(part for part in row.get("Partitions", "").split(",") if part), drained,
        by, why, since, place.leaf, whole(row.get("CPUTot")), whole(row.get("CPUAlloc")), number(row.get("CPULoad")),
        memory * MIB, None if free is None else max(0, memory - int(free)) * MIB, total,
        gpus(row.get("AllocTRES", ""), row.get("GresUsed", "")),
        tuple(_gpus(name, total, gpu_type(gres), measures, ids)), jobs.get(name, ()),
    )  # fmt: skip


def _out(name: str, reason: str) -> tuple[str, str, float | None]:
    """Who took it out of service, why, and since when."""
    if not word(reason):
        return "", "", None
    found, since = drain(name, reason), _SINCE.search(reason)
    words = (
        f"{found.by}: {found.reason}" if found.who == "person" and found.by != "a person" else found.reason
    )
    return found.who, words, float(since[1]) if since else None


def _gpus(node: str, total: int, kind: str, measures: Measures, ids: Mapping[str, str]) -> Iterator[Gpu]:
    """As many as Slurm has there, and any more that were measured."""
    of = {family: values[node] for family, values in measures.items() if node in values}
    seen = {int(index) for values in of.values() for index in values if index.isdigit()}
    for index in range(max([total, *(each + 1 for each in seen)])):
        one = {family: values.get(str(index)) for family, values in of.items()}
        job = str(one.get("job") or "")
        yield Gpu(
            index, str(one.get("name") or kind), number(one.get("utilisation")), _bytes(one.get("memory_used")),
            _bytes(one.get("memory_total")), number(one.get("celsius")), number(one.get("watts")), ids.get(job, job),
        )  # fmt: skip


def _bytes(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)
