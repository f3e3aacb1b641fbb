"""Parse nodes from scontrol's output, with the GPU metrics from Prometheus; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.check.drains import drain
from clusterwright.monitor.gather.slurm_text import number
from clusterwright.monitor.snapshot import GpuSnapshot, NodeView
from clusterwright.onhost.lib.numbers import ascii_int
from clusterwright.slurm.nodes import Node, parse_nodes
from clusterwright.slurm.states import NodeState

MIB = 2**20
Measures = Mapping[str, Mapping[str, Mapping[str, Any]]]

_REASON_TIME = re.compile(r"@(\d+)\]\s*$")
_MOST_GPUS = 1024  # of one node, as its own exporter sends their number


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """Node group, leaf switch and GPUs of a node, from the cluster file."""

    group: str = ""
    leaf: str = ""
    gpus: int = 0
    model: str = ""


def nodes(
    text: str,
    places: Mapping[str, NodeSpec],
    measures: Measures,
    jobs: Mapping[str, tuple[str, ...]],
    ids: Mapping[str, str],
) -> tuple[NodeView, ...]:
    """Return a view of each node in scontrol's output `text`, with group, leaf switch, GPU metrics and jobs.

    `places`: the hosts of the cluster file; `measures`: metrics of GPUs; `jobs`: job ids by node; `ids`: the displayed
    id by Slurm's raw job id.
    """
    return tuple(_node(node, places, measures, jobs, ids) for node in parse_nodes(text).values())


def unknown_nodes(places: Mapping[str, NodeSpec], measures: Measures) -> tuple[NodeView, ...]:
    """Return a view of each host of the cluster file, in state `unknown`, for when Slurm does not answer.

    It has the host's GPUs with their metrics, if any, but no jobs.
    """
    return tuple(
        NodeView(name, "unknown", spec.group, leaf=spec.leaf, gpus_total=len(gpus), gpus=gpus)
        for name, spec in places.items()
        for gpus in [tuple(_gpus(name, spec.gpus, spec.model, measures, {}))]
    )


def state(node_state: NodeState) -> tuple[str, bool]:
    """Return the node's state as in a snapshot, and whether the node is drained or failing."""
    return node_state.activity, node_state.is_drained or "FAIL" in node_state.flags


def _node(
    node: Node,
    places: Mapping[str, NodeSpec],
    measures: Measures,
    jobs: Mapping[str, tuple[str, ...]],
    ids: Mapping[str, str],
) -> NodeView:
    spec = places.get(node.name, NodeSpec())
    base, drained = state(node.state)
    record, total = node.record, node.gpus
    free = number(record["FreeMem"])
    by, reason, drained_at = _out(node.name, node.reason)
    return NodeView(
        node.name,
        base,
        spec.group,
        node.partitions,
        drained,
        by,
        reason,
        drained_at,
        spec.leaf,
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
    """Return (origin of a node's reason, such as heal or person; the reason; since when in epoch seconds).

    The reason begins with a person's name if it is known. Empty texts and None without a reason; None without a time.
    """
    if not reason:
        return "", "", None
    drain_record, match = drain(name, reason), _REASON_TIME.search(reason)
    text = (
        f"{drain_record.by}: {drain_record.reason}"
        if drain_record.origin == "person" and drain_record.by != "a person"
        else drain_record.reason
    )
    return drain_record.origin, text, float(match[1]) if match else None


def _gpus(
    node: str, total: int, kind: str, measures: Measures, ids: Mapping[str, str]
) -> Iterator[GpuSnapshot]:
    """Yield the GPUs 0 to n - 1 of a node, where n covers those that Slurm counts and those that Prometheus has.

    Indexes from `_MOST_GPUS` on are ignored. `ids` maps Slurm's job numbers to the ids shown.
    """
    values_by_family = {family: values[node] for family, values in measures.items() if node in values}
    indexes = {ascii_int(index) for values in values_by_family.values() for index in values}
    more = [index + 1 for index in indexes if index is not None and index < _MOST_GPUS]
    for index in range(max([total, *more])):
        gpu = {family: values.get(str(index)) for family, values in values_by_family.items()}
        job = str(gpu.get("job") or "")
        yield GpuSnapshot(
            index,
            str(gpu.get("name") or kind),
            number(gpu.get("utilisation")),
            _bytes(gpu.get("memory_used")),
            _bytes(gpu.get("memory_total")),
            number(gpu.get("celsius")),
            number(gpu.get("watts")),
            ids.get(job, job),
        )


def _bytes(value: Any) -> int | None:
    amount = number(value)
    return None if amount is None else int(amount)
