"""Everything that the job asks for is taken, or does not exist."""

from __future__ import annotations

from dataclasses import replace

from clusterwright.diagnose.pending.facts import Facts, hosts
from clusterwright.diagnose.pending.fit import Need, fitting, has, lacks, need
from clusterwright.diagnose.pending.reasons.out_of_service import out
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import WHEN_THEY_END, holders, starts, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Change, Waiting, Words


@reason("Resources$")
def resources(facts: Facts) -> Waiting:
    """What it asks is held by others, unless no node could ever give it, or those that could are out of service."""
    return never(facts) or out(facts) or taken(facts)


def taken(facts: Facts) -> Waiting:
    """Who holds the nodes, and the smaller ask that fits now."""
    wanted = need(facts.job)
    could = fitting(facts, wanted, now=False)
    ready = fitting(facts, wanted, now=True)
    on_them = [job for job in facts.running if not _apart(job.hosts, could)]
    asks = _asks(wanted)
    alone = wanted.whole and len(fitting(facts, replace(wanted, whole=False), now=True)) >= wanted.nodes
    return Waiting(
        "resources-exclusive" if alone else "resources",
        Words(
            f"It needs {asks.en}; of {len(could)} nodes that have that, {len(ready)} have it free."
            + (" It asks for whole nodes, and other jobs are on them." if alone else ""),
            f"它需要 {asks.zh}; 满足条件的 {len(could)} 个节点中, 现在空闲的有 {len(ready)} 个。"
            + ("它要求独占节点, 而节点上还有别的作业。" if alone else ""),
        ),
        starts(facts, WHEN_THEY_END),
        _smaller(facts, wanted, alone=alone),
        holders(on_them),
    )


def never(facts: Facts) -> Waiting | None:
    """Too few nodes of the partition would have it if they were all empty and up."""
    wanted = need(facts.job)
    could = fitting(facts, wanted, now=False)
    if not facts.nodes or len(could) >= wanted.nodes:
        return None
    short = [lacks(wanted, has(node), node) for node in facts.nodes.values()]
    what = max(set(short) - {""}, key=short.count, default="nodes")
    asks, name = _asks(wanted), facts.partition["PartitionName"]
    return Waiting(
        f"never-fits-{what.partition(':')[0]}",
        Words(
            f"It can never start as it is: it asks for {asks.en}, "
            f"and {len(could)} nodes of partition {name} have that.",
            f"按现在的要求它永远无法开始: 它要求 {asks.zh}, 而分区 {name} 中有 {len(could)} 个节点满足。",
        ),
        NOT_BY_ITSELF,
        _possible(facts, wanted, what),
    )


def _possible(facts: Facts, wanted: Need, what: str) -> Change | None:
    """The largest ask of that kind that the nodes have at all."""
    rooms = [has(node) for node in facts.nodes.values()]
    if what == "gpus" and (most := max(room.gpus.get(wanted.gpu_type, 0) for room in rooms)):
        return _gpus(facts, wanted, most)
    if what == "type":
        return update(
            facts, f"TresPerNode=gres:gpu:{wanted.gpus}", Words("take any type of GPU", "接受任何型号的 GPU")
        )
    if what == "memory":
        most_mib = int(max(room.memory for room in rooms))
        return update(
            facts,
            f"MinMemoryNode={most_mib}",
            Words("ask for as much memory as a node has", "只要求一个节点所有的内存"),
        )
    if what == "cpus":
        most = max(room.cpus for room in rooms)
        return update(
            facts,
            f"NumCPUs={most * wanted.nodes}",
            Words("ask for as many CPUs as a node has", "只要求节点所有的 CPU 数"),
        )
    if what == "features":
        return update(facts, "Features=", Words("ask for no feature", "不要求任何特性"))
    could = len(fitting(facts, wanted, now=False))
    return (
        update(
            facts,
            f"NumNodes={could}-{could}",
            Words("ask for the nodes that there are", "只要求现有的节点数"),
        )
        if could
        else None
    )


def _smaller(facts: Facts, wanted: Need, *, alone: bool) -> Change | None:
    """An ask that fits now: shared nodes, fewer nodes, or fewer GPUs."""
    if alone:
        return update(
            facts, "OverSubscribe=YES", Words("let it share its nodes", "允许它与别的作业共享节点"), "admin"
        )
    ready = len(fitting(facts, wanted, now=True))
    if 0 < ready < wanted.nodes:
        return update(
            facts,
            f"NumNodes={ready}-{ready}",
            Words(f"take the {ready} that are free now", f"只用现在空闲的 {ready} 个节点"),
        )
    for gpus in range(wanted.gpus - 1, 0, -1):
        if len(fitting(facts, replace(wanted, gpus=gpus), now=True)) >= wanted.nodes:
            return _gpus(facts, wanted, gpus)
    return None


def _gpus(facts: Facts, wanted: Need, gpus: int) -> Change:
    kind = f"{wanted.gpu_type}:" if wanted.gpu_type else ""
    says = Words(f"ask for {gpus} GPUs of a node", f"每个节点只要求 {gpus} 块 GPU")
    if facts.job["TresPerNode"] or not facts.job["TresPerJob"]:
        return update(facts, f"TresPerNode=gres:gpu:{kind}{gpus}", says)
    return update(facts, f"TresPerJob=gres:gpu:{kind}{gpus * wanted.nodes}", says)


def _asks(wanted: Need) -> Words:
    """`2 nodes, each with 16 CPUs, 4 GPUs (a100) and 29 GiB`."""
    kind = f" ({wanted.gpu_type})" if wanted.gpu_type else ""
    memory = f", {wanted.memory / 1024:.1f} GiB" if wanted.memory else ""
    rest = memory + (f", {'&'.join(wanted.features)}" if wanted.features else "")
    gpus = f", {_count(wanted.gpus, 'GPU')}{kind}" if wanted.gpus else ""
    gpus_zh = f", {wanted.gpus} 块 GPU{kind}" if wanted.gpus else ""
    return Words(
        f"{_count(wanted.nodes, 'node')}, each with {_count(wanted.cpus, 'CPU')}{gpus}{rest}",
        f"{wanted.nodes} 个节点, 每个有 {wanted.cpus} 个 CPU{gpus_zh}{rest}",
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def _apart(hostlist: str, names: list[str]) -> bool:
    return not set(hosts(hostlist)) & set(names)
