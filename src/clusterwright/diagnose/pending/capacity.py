"""The resources that a job requests per node, and the nodes that have them: now, or when they are empty and up."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from clusterwright.diagnose.pending.facts import Facts, usable
from clusterwright.slurm.records import Record, amount

_GPUS = re.compile(r"gres[:/]gpu(?:[:=]([A-Za-z][\w.-]*))?(?:[:=](\d+))?")


@dataclass(frozen=True, slots=True)
class Need:
    """A job's request per node, on `nodes` nodes; memory in MiB."""

    nodes: int
    cpus: int
    memory: float
    gpus: int
    gpu_type: str
    features: tuple[str, ...]
    is_exclusive: bool  # `--exclusive`


@dataclass(frozen=True, slots=True)
class Capacity:
    """CPUs, memory (MiB) and GPUs of a node."""

    cpus: int
    memory: float
    gpus: dict[str, int]  # by type; "" is the total


def need(job: Record) -> Need:
    """Return the job's request per node; CPUs and memory requested in total are divided evenly over its nodes."""
    nodes = max(1, job.number("NumNodes"))
    kind, gpus = _gpus(job, nodes)
    cpus = max(job.number("MinCPUsNode"), math.ceil(job.number("NumCPUs") / nodes), 1)
    memory = (
        amount(job["MinMemoryNode"])
        or amount(job["MinMemoryCPU"]) * cpus
        or job.tres("TRES").get("mem", 0) / nodes
    )
    features = tuple(feature for feature in re.split(r"[&|,*()\[\]\d]+", job["Features"]) if feature)
    return Need(nodes, cpus, memory, gpus, kind, features, job["OverSubscribe"] == "NO")


def _gpus(job: Record, nodes: int) -> tuple[str, int]:
    """Return type and number of the GPUs that the job requests per node; an empty type if the job names none.

    A request for the job or its tasks is divided by the nodes and rounded up.
    """
    match = _GPUS.search(job["TresPerNode"])
    if match:
        return match[1] or "", int(match[2] or 1)
    match = _GPUS.search(job["TresPerJob"]) or _GPUS.search(job["TresPerTask"])
    every = int(job.tres("TRES").get("gres/gpu", 0)) or (int(match[2] or 1) if match else 0)
    return (match[1] or "") if match else "", math.ceil(every / nodes)


def has(node: Record) -> Capacity:
    """Return all resources of a node that jobs can be allocated."""
    memory = amount(node["RealMemory"]) - amount(node["MemSpecLimit"])
    return Capacity(node.number("CPUEfctv") or node.number("CPUTot"), memory, _by_type(node.tres("CfgTRES")))


def free(node: Record) -> Capacity:
    """Return the resources of a node that are not allocated; none if no job can start on the node."""
    if not usable(node):
        return Capacity(0, 0, {})
    total, allocated = has(node), _by_type(node.tres("AllocTRES"))
    gpus = {kind: count - allocated.get(kind, 0) for kind, count in total.gpus.items()}
    return Capacity(total.cpus - node.number("CPUAlloc"), total.memory - amount(node["AllocMem"]), gpus)


def _by_type(tres: dict[str, float]) -> dict[str, int]:
    return {key[8:].lstrip(":"): int(value) for key, value in tres.items() if key.startswith("gres/gpu")}


def lacks(request: Need, capacity: Capacity, node: Record) -> str:
    """Return what of the request the capacity does not satisfy first; empty if all of it fits.

    One of `features:NAME`, `type` (of GPUs), `gpus`, `cpus`, `memory`, and `whole` (an exclusive node with jobs).
    """
    features = re.split(r"[,\s]+", node["ActiveFeatures"] or node["AvailableFeatures"])
    if missing := [feature for feature in request.features if feature not in features]:
        return f"features:{missing[0]}"
    if request.gpu_type and request.gpu_type not in capacity.gpus and request.gpus:
        return "type"
    if request.gpus > capacity.gpus.get(request.gpu_type, 0):
        return "gpus"
    if request.cpus > capacity.cpus:
        return "cpus"
    if request.memory > capacity.memory:
        return "memory"
    if request.is_exclusive and node.number("CPUAlloc"):
        return "whole"
    return ""


def fitting(facts: Facts, request: Need, *, now: bool) -> list[str]:
    """Return the nodes, of the job's `--nodelist` if it has one, that satisfy the request.

    With `now` by what is free now, else by what they have when they are empty and up.
    """
    among = {
        name: node
        for name, node in facts.nodes.items()
        if not facts.requested_nodes or name in facts.requested_nodes
    }
    return [
        name
        for name, node in among.items()
        if not lacks(
            request, free(node) if now else has(node), node if now else Record(dict(node) | {"CPUAlloc": "0"})
        )
    ]
