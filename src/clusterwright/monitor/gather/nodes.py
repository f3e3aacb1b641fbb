"""Nodes of scontrol's answer, with what Prometheus knows of their GPUs; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.check.drains import drain
from clusterwright.monitor.gather.slurm_text import number
from clusterwright.monitor.picture import Gpu, NodeView
from clusterwright.slurm.nodes import Node, parse_nodes
from clusterwright.slurm.states import NodeState

MIB = 2**20
Measures = Mapping[str, Mapping[str, Mapping[str, Any]]]

_SINCE = re.compile(r"@(\d+)\]\s*$")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands and how many GPUs it has, by the cluster file."""

    group: str = ""
    leaf: str = ""
    gpus: int = 0
    model: str = ""


def nodes(
    text: str,
    places: Mapping[str, Place],
    measures: Measures,
    jobs: Mapping[str, tuple[str, ...]],
    ids: Mapping[str, str],
) -> tuple[NodeView, ...]:
    """Those that Slurm has; `jobs` are ids by node, and `ids` the id that people know of each of Slurm's numbers."""
    return tuple(_node(node, places, measures, jobs, ids) for node in parse_nodes(text).values())


def unheard(places: Mapping[str, Place], measures: Measures) -> tuple[NodeView, ...]:
    """The cluster file's nodes where Slurm does not answer: their states are not known."""
    return tuple(
        NodeView(name, "unknown", place.group, leaf=place.leaf, gpus_total=len(found), gpus=found)
        for name, place in places.items()
        for found in [tuple(_gpus(name, place.gpus, place.model, measures, {}))]
    )


def state(of: NodeState) -> tuple[str, bool]:
    """The state as the picture names it, and whether somebody keeps jobs away."""
    return of.activity, of.is_drained or "FAIL" in of.flags


def _node(
    node: Node,
    places: Mapping[str, Place],
    measures: Measures,
    jobs: Mapping[str, tuple[str, ...]],
    ids: Mapping[str, str],
) -> NodeView:
    place = places.get(node.name, Place())
    base, drained = state(node.state)
    record, total = node.record, node.gpus
    free = number(record["FreeMem"])
    by, why, since = _out(node.name, node.reason)
    return NodeView(
        node.name,
        base,
        place.group,
        node.partitions,
        drained,
        by,
        why,
        since,
        place.leaf,
        node.cpus,
        node.cpus_allocated,
        number(record["CPULoad"]),
        node.memory_mib * MIB,
        None if free is None else max(0, node.memory_mib - int(free)) * MIB,
        total,
        node.gpus_allocated,
        tuple(_gpus(node.name, total, node.gpu_model, measures, ids)),
        jobs.get(node.name, ()),
    )


def _out(name: str, reason: str) -> tuple[str, str, float | None]:
    """Who took it out of service, why, and since when."""
    if not reason:
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
            index,
            str(one.get("name") or kind),
            number(one.get("utilisation")),
            _bytes(one.get("memory_used")),
            _bytes(one.get("memory_total")),
            number(one.get("celsius")),
            number(one.get("watts")),
            ids.get(job, job),
        )


def _bytes(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)
