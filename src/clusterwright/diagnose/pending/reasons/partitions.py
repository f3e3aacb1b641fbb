"""Explain limits and the state of the job's partition."""

from __future__ import annotations

from clusterwright.diagnose.pending.changes import admin, quoted, update
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, StartCommand, Waiting
from clusterwright.i18n import _, _n
from clusterwright.slurm.records import Record, length, seconds


@reason("PartitionTimeLimit")
def time_limit(facts: Facts) -> Waiting:
    """Explain that the job's time limit exceeds the partition's; Slurm gives this reason for too many nodes as well."""
    most, requested = seconds(facts.partition["MaxTime"]), seconds(facts.job["TimeLimit"])
    if most is not None and requested is not None and requested <= most:
        return node_limit(facts)
    return Waiting(
        "partition-time-limit",
        _(
            "The job requests {requested}, and partition {partition} allows at most {limit}.",
            requested=facts.job["TimeLimit"],
            partition=facts.partition["PartitionName"],
            limit=facts.partition["MaxTime"],
        ),
        _(NOT_BY_ITSELF),
        update(facts, f"TimeLimit={length(most or 60)}", _("set the time limit to the partition's maximum")),
        evidence=_line(facts.partition, "MaxTime"),
    )


@reason("PartitionNodeLimit|PartitionConfig")
def node_limit(facts: Facts) -> Waiting:
    """Explain that the job requests more, or fewer, nodes than the partition allows one job."""
    name, requested = facts.partition["PartitionName"], facts.job.number("NumNodes")
    most = facts.partition.number("MaxNodes") or facts.partition.number("TotalNodes")
    least = facts.partition.number("MinNodes")
    allowed = max(least, min(most, requested))
    return Waiting(
        "partition-node-limit",
        _n(
            "The job requests {count} node, and partition {partition} allows a job {least} to {most}.",
            "The job requests {count} nodes, and partition {partition} allows a job {least} to {most}.",
            requested,
            partition=name,
            least=max(1, least),
            most=most,
        ),
        _(NOT_BY_ITSELF),
        update(facts, f"NumNodes={allowed}-{allowed}", _("request a number of nodes that is allowed")),
        evidence=_line(facts.partition, "MaxNodes", "MinNodes"),
    )


@reason("Partition(Down|Inactive)")
def down(facts: Facts) -> Waiting:
    """Explain that the partition's state is DOWN or INACTIVE, so no job starts in it."""
    name, state = facts.partition["PartitionName"], facts.partition["State"]
    return Waiting(
        "partition-inactive" if state == "INACTIVE" else "partition-down",
        _(
            "Partition {partition} is {state}: no job starts in it until an administrator sets it to UP.",
            partition=name,
            state=state,
        ),
        _("when the partition is UP"),
        other_partition(facts)
        or admin(f"scontrol update partition={quoted(name)} state=UP", _("set the partition to UP")),
        evidence=_line(facts.partition, "State"),
    )


def other_partition(facts: Facts) -> StartCommand | None:
    """Return the command that moves the job to another partition whose limits it satisfies; None without one.

    Only partitions that are up and open to all accounts and groups.
    """
    requested, limit = facts.job.number("NumNodes"), seconds(facts.job["TimeLimit"])
    for name, partition in facts.partitions.items():
        most = partition.number("MaxNodes") or partition.number("TotalNodes")
        longest = seconds(partition["MaxTime"])
        satisfies_limits = requested <= most and (longest is None or (limit is not None and limit <= longest))
        free = partition["AllowAccounts"] in {"", "ALL"} and partition["AllowGroups"] in {"", "ALL"}
        other_name = name != facts.partition["PartitionName"]
        if other_name and partition["State"] == "UP" and satisfies_limits and free:
            return update(facts, f"Partition={quoted(name)}", _("use another partition"))
    return None


def _line(partition: Record, *names: str) -> tuple[tuple[str, str], ...]:
    return (("scontrol show partition", partition.quoted("PartitionName", *names)),)
