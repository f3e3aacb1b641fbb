"""What its partition allows."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import admin, quoted, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Change, Message, Waiting
from clusterwright.slurm.records import Record, length, seconds


@reason("PartitionTimeLimit")
def time_limit(facts: Facts) -> Waiting:
    """It asks for more time than the partition gives; Slurm says so of a partition with too few nodes, too."""
    most, requested = seconds(facts.partition["MaxTime"]), seconds(facts.job["TimeLimit"])
    if most is not None and requested is not None and requested <= most:
        return node_limit(facts)
    name = facts.partition["PartitionName"]
    return Waiting(
        "partition-time-limit",
        Message(
            f"It asks for {facts.job['TimeLimit']}, and partition {name} gives at most {facts.partition['MaxTime']}.",
            f"它要求 {facts.job['TimeLimit']}, 而分区 {name} 最多只给 {facts.partition['MaxTime']}。",
        ),
        NOT_BY_ITSELF,
        update(facts, f"TimeLimit={length(most or 60)}", Message("ask for that much", "只要求这么长时间")),
        evidence=_line(facts.partition, "MaxTime"),
    )


@reason("PartitionNodeLimit|PartitionConfig")
def node_limit(facts: Facts) -> Waiting:
    """It asks for more, or fewer, nodes than the partition gives to one job."""
    name, requested = facts.partition["PartitionName"], facts.job.number("NumNodes")
    most = facts.partition.number("MaxNodes") or facts.partition.number("TotalNodes")
    least = facts.partition.number("MinNodes")
    allowed = max(least, min(most, requested))
    return Waiting(
        "partition-node-limit",
        Message(
            f"It asks for {requested} nodes, and a job in partition {name} has from {max(1, least)} to {most}.",
            f"它要求 {requested} 个节点, 而分区 {name} 中一个作业只能有 {max(1, least)} 到 {most} 个。",
        ),
        NOT_BY_ITSELF,
        update(facts, f"NumNodes={allowed}-{allowed}", Message("ask for that many", "只要求这么多")),
        evidence=_line(facts.partition, "MaxNodes", "MinNodes"),
    )


@reason("Partition(Down|Inactive)")
def down(facts: Facts) -> Waiting:
    """The partition starts no job, or takes none at all."""
    name, state = facts.partition["PartitionName"], facts.partition["State"]
    return Waiting(
        "partition-inactive" if state == "INACTIVE" else "partition-down",
        Message(
            f"Partition {name} is {state}: no job starts in it until an administrator sets it UP.",
            f"分区 {name} 的状态为 {state}: 管理员将其设为 UP 之前, 其中没有作业会开始。",
        ),
        Message("when the partition is up", "分区恢复为 UP 时"),
        other_partition(facts)
        or admin(f"scontrol update partition={quoted(name)} state=UP", Message("open it", "打开该分区")),
        evidence=_line(facts.partition, "State"),
    )


def other_partition(facts: Facts) -> Change | None:
    """Another one that would take the job as it is."""
    requested, limit = facts.job.number("NumNodes"), seconds(facts.job["TimeLimit"])
    for name, partition in facts.partitions.items():
        most, longest = (
            partition.number("MaxNodes") or partition.number("TotalNodes"),
            seconds(partition["MaxTime"]),
        )
        satisfies_limits = requested <= most and (longest is None or (limit is not None and limit <= longest))
        free = partition["AllowAccounts"] in {"", "ALL"} and partition["AllowGroups"] in {"", "ALL"}
        if (
            name != facts.partition["PartitionName"]
            and partition["State"] == "UP"
            and satisfies_limits
            and free
        ):
            return update(
                facts, f"Partition={quoted(name)}", Message("go to another partition", "换到另一个分区")
            )
    return None


def _line(partition: Record, *names: str) -> tuple[tuple[str, str], ...]:
    return (("scontrol show partition", partition.quoted("PartitionName", *names)),)
