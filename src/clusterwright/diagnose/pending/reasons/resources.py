"""Explain that requested resources are allocated, or do not exist."""

from __future__ import annotations

from dataclasses import replace

from clusterwright.diagnose.pending.capacity import Need, fitting, has, lacks, need
from clusterwright.diagnose.pending.changes import WHEN_HOLDER_ENDS, holders, starts, update
from clusterwright.diagnose.pending.facts import Facts, hosts
from clusterwright.diagnose.pending.reasons.out_of_service import out
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, StartCommand, Waiting
from clusterwright.i18n import _, _n
from clusterwright.units import MiB, human_size


@reason("Resources$")
def resources(facts: Facts) -> Waiting:
    """Explain which jobs have the resources, or that no node satisfies the request, or nodes out of service."""
    return unsatisfiable(facts) or out(facts) or all_allocated(facts)


def all_allocated(facts: Facts) -> Waiting:
    """Explain that other jobs, which the Waiting lists, have the nodes; propose a smaller request if one fits now."""
    request = need(facts.job)
    could = fitting(facts, request, now=False)
    ready = fitting(facts, request, now=True)
    jobs = [job for job in facts.running if not _is_disjoint(job.hosts, could)]
    only_exclusive = (
        request.is_exclusive
        and len(fitting(facts, replace(request, is_exclusive=False), now=True)) >= request.nodes
    )
    values = {"request": _request_text(request), "total": len(could), "free": len(ready)}
    cause = (
        _(
            "The job needs {request}, exclusively; {total} nodes can provide that, {free} of them now, and other jobs "
            "run on the rest.",
            **values,
        )
        if only_exclusive
        else _("The job needs {request}; {total} nodes can provide that, {free} of them now.", **values)
    )
    return Waiting(
        "resources-exclusive" if only_exclusive else "resources",
        cause,
        starts(facts, _(WHEN_HOLDER_ENDS)),
        _smaller(facts, request, only_exclusive=only_exclusive),
        holders(jobs),
    )


def unsatisfiable(facts: Facts) -> Waiting | None:
    """Explain that too few nodes would satisfy the request even if all were empty and up; None if enough would."""
    request = need(facts.job)
    could = fitting(facts, request, now=False)
    if not facts.nodes or len(could) >= request.nodes:
        return None
    short = [lacks(request, has(node), node) for node in facts.nodes.values()]
    shortage = max(set(short) - {""}, key=short.count, default="nodes")
    cause = _n(
        "The job cannot start as it is: it requests {request}, and {count} node of partition {partition} has that.",
        "The job cannot start as it is: it requests {request}, and {count} nodes of partition {partition} have that.",
        len(could),
        request=_request_text(request),
        partition=facts.partition["PartitionName"],
    )
    change = _possible(facts, request, shortage)
    return Waiting(f"never-fits-{shortage.partition(':')[0]}", cause, _(NOT_BY_ITSELF), change)


def _possible(facts: Facts, request: Need, shortage: str) -> StartCommand | None:
    """Return the command for the largest request of the short resource that the nodes can satisfy; None without one."""
    capacities = [has(node) for node in facts.nodes.values()]
    if shortage == "gpus" and (
        most := max(capacity.gpus.get(request.gpu_type, 0) for capacity in capacities)
    ):
        return _gpus(facts, request, most)
    if shortage == "type":
        return update(facts, f"TresPerNode=gres:gpu:{request.gpus}", _("accept GPUs of any type"))
    if shortage == "memory":
        most_mib = int(max(capacity.memory for capacity in capacities))
        return update(facts, f"MinMemoryNode={most_mib}", _("request the memory that a node has"))
    if shortage == "cpus":
        most = max(capacity.cpus for capacity in capacities)
        return update(facts, f"NumCPUs={most * request.nodes}", _("request the CPUs that a node has"))
    if shortage == "features":
        return update(facts, "Features=", _("request no feature"))
    could = len(fitting(facts, request, now=False))
    return (
        update(
            facts, f"NumNodes={could}-{could}", _("request only as many nodes as have all that the job needs")
        )
        if could
        else None
    )


def _smaller(facts: Facts, request: Need, *, only_exclusive: bool) -> StartCommand | None:
    """Return the command for a request that fits now: shared nodes, fewer nodes, or fewer GPUs; None without one."""
    if only_exclusive:
        return update(facts, "OverSubscribe=YES", _("allow other jobs on the nodes of this job"), "admin")
    ready = len(fitting(facts, request, now=True))
    if 0 < ready < request.nodes:
        text = _n("use the {count} node that is free now", "use the {count} nodes that are free now", ready)
        return update(facts, f"NumNodes={ready}-{ready}", text)
    for gpus in range(request.gpus - 1, 0, -1):
        if len(fitting(facts, replace(request, gpus=gpus), now=True)) >= request.nodes:
            return _gpus(facts, request, gpus)
    return None


def _gpus(facts: Facts, request: Need, gpus: int) -> StartCommand:
    kind = f"{request.gpu_type}:" if request.gpu_type else ""
    description = _n("request {count} GPU per node", "request {count} GPUs per node", gpus)
    if facts.job["TresPerNode"] or not facts.job["TresPerJob"]:
        return update(facts, f"TresPerNode=gres:gpu:{kind}{gpus}", description)
    return update(facts, f"TresPerJob=gres:gpu:{kind}{gpus * request.nodes}", description)


def _request_text(request: Need) -> str:
    """Return the request as text: `2 nodes, each with 16 CPUs, 4 GPUs (a100), 29 GiB`."""
    parts = [_n("{count} CPU", "{count} CPUs", request.cpus)]
    if request.gpus:
        kind = f" ({request.gpu_type})" if request.gpu_type else ""
        parts.append(_n("{count} GPU", "{count} GPUs", request.gpus) + kind)
    parts += [human_size(request.memory * MiB)] if request.memory else []
    parts += ["&".join(request.features)] if request.features else []
    return _n(
        "{count} node with {resources}",
        "{count} nodes, each with {resources}",
        request.nodes,
        resources=", ".join(parts),
    )


def _is_disjoint(hostlist: str, names: list[str]) -> bool:
    return not set(hosts(hostlist)) & set(names)
