"""Everything that the job asks for is taken, or does not exist."""

from __future__ import annotations

from dataclasses import replace

from clusterwright.diagnose.pending.capacity import Need, fitting, has, lacks, need
from clusterwright.diagnose.pending.facts import Facts, hosts
from clusterwright.diagnose.pending.reasons.out_of_service import out
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import WHEN_HOLDER_ENDS, holders, starts, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Change, Message, Waiting


@reason("Resources$")
def resources(facts: Facts) -> Waiting:
    """What it asks is held by others, unless no node could ever give it, or those that could are out of service."""
    return unsatisfiable(facts) or out(facts) or all_allocated(facts)


def all_allocated(facts: Facts) -> Waiting:
    """Who holds the nodes, and the smaller ask that fits now."""
    request = need(facts.job)
    could = fitting(facts, request, now=False)
    ready = fitting(facts, request, now=True)
    jobs = [job for job in facts.running if not _is_disjoint(job.hosts, could)]
    request_text = _request_text(request)
    only_exclusive = (
        request.is_exclusive
        and len(fitting(facts, replace(request, is_exclusive=False), now=True)) >= request.nodes
    )
    return Waiting(
        "resources-exclusive" if only_exclusive else "resources",
        Message(
            f"It needs {request_text.en}; of {len(could)} nodes that have that, {len(ready)} have it free."
            + (" It asks for whole nodes, and other jobs are on them." if only_exclusive else ""),
            f"它需要 {request_text.zh}; 满足条件的 {len(could)} 个节点中, 现在空闲的有 {len(ready)} 个。"
            + ("它要求独占节点, 而节点上还有别的作业。" if only_exclusive else ""),
        ),
        starts(facts, WHEN_HOLDER_ENDS),
        _smaller(facts, request, only_exclusive=only_exclusive),
        holders(jobs),
    )


def unsatisfiable(facts: Facts) -> Waiting | None:
    """Too few nodes of the partition would have it if they were all empty and up."""
    request = need(facts.job)
    could = fitting(facts, request, now=False)
    if not facts.nodes or len(could) >= request.nodes:
        return None
    short = [lacks(request, has(node), node) for node in facts.nodes.values()]
    shortage = max(set(short) - {""}, key=short.count, default="nodes")
    request_text, name = _request_text(request), facts.partition["PartitionName"]
    return Waiting(
        f"never-fits-{shortage.partition(':')[0]}",
        Message(
            f"It can never start as it is: it asks for {request_text.en}, "
            f"and {len(could)} nodes of partition {name} have that.",
            f"按现在的要求它永远无法开始: 它要求 {request_text.zh}, 而分区 {name} 中有 {len(could)} 个节点满足。",
        ),
        NOT_BY_ITSELF,
        _possible(facts, request, shortage),
    )


def _possible(facts: Facts, request: Need, shortage: str) -> Change | None:
    """The largest ask of that kind that the nodes have at all."""
    capacities = [has(node) for node in facts.nodes.values()]
    if shortage == "gpus" and (
        most := max(capacity.gpus.get(request.gpu_type, 0) for capacity in capacities)
    ):
        return _gpus(facts, request, most)
    if shortage == "type":
        return update(
            facts,
            f"TresPerNode=gres:gpu:{request.gpus}",
            Message("take any type of GPU", "接受任何型号的 GPU"),
        )
    if shortage == "memory":
        most_mib = int(max(capacity.memory for capacity in capacities))
        return update(
            facts,
            f"MinMemoryNode={most_mib}",
            Message("ask for as much memory as a node has", "只要求一个节点所有的内存"),
        )
    if shortage == "cpus":
        most = max(capacity.cpus for capacity in capacities)
        return update(
            facts,
            f"NumCPUs={most * request.nodes}",
            Message("ask for as many CPUs as a node has", "只要求节点所有的 CPU 数"),
        )
    if shortage == "features":
        return update(facts, "Features=", Message("ask for no feature", "不要求任何特性"))
    could = len(fitting(facts, request, now=False))
    return (
        update(
            facts,
            f"NumNodes={could}-{could}",
            Message("ask for the nodes that there are", "只要求现有的节点数"),
        )
        if could
        else None
    )


def _smaller(facts: Facts, request: Need, *, only_exclusive: bool) -> Change | None:
    """An ask that fits now: shared nodes, fewer nodes, or fewer GPUs."""
    if only_exclusive:
        return update(
            facts, "OverSubscribe=YES", Message("let it share its nodes", "允许它与别的作业共享节点"), "admin"
        )
    ready = len(fitting(facts, request, now=True))
    if 0 < ready < request.nodes:
        return update(
            facts,
            f"NumNodes={ready}-{ready}",
            Message(f"take the {ready} that are free now", f"只用现在空闲的 {ready} 个节点"),
        )
    for gpus in range(request.gpus - 1, 0, -1):
        if len(fitting(facts, replace(request, gpus=gpus), now=True)) >= request.nodes:
            return _gpus(facts, request, gpus)
    return None


def _gpus(facts: Facts, request: Need, gpus: int) -> Change:
    kind = f"{request.gpu_type}:" if request.gpu_type else ""
    description = Message(f"ask for {gpus} GPUs of a node", f"每个节点只要求 {gpus} 块 GPU")
    if facts.job["TresPerNode"] or not facts.job["TresPerJob"]:
        return update(facts, f"TresPerNode=gres:gpu:{kind}{gpus}", description)
    return update(facts, f"TresPerJob=gres:gpu:{kind}{gpus * request.nodes}", description)


def _request_text(request: Need) -> Message:
    """`2 nodes, each with 16 CPUs, 4 GPUs (a100) and 29 GiB`."""
    kind = f" ({request.gpu_type})" if request.gpu_type else ""
    memory = f", {request.memory / 1024:.1f} GiB" if request.memory else ""
    suffix = memory + (f", {'&'.join(request.features)}" if request.features else "")
    gpus = f", {_count(request.gpus, 'GPU')}{kind}" if request.gpus else ""
    gpus_zh = f", {request.gpus} 块 GPU{kind}" if request.gpus else ""
    return Message(
        f"{_count(request.nodes, 'node')}, each with {_count(request.cpus, 'CPU')}{gpus}{suffix}",
        f"{request.nodes} 个节点, 每个有 {request.cpus} 个 CPU{gpus_zh}{suffix}",
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _is_disjoint(hostlist: str, names: list[str]) -> bool:
    return not set(hosts(hostlist)) & set(names)
