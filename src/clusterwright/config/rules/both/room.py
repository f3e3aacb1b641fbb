"""The partition has room for the job."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash, In
from clusterwright.config.rules._unknown import unknown
from clusterwright.units import format_duration


def room(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """The partition exists and has the hosts, GPUs and time that the job asks, for its team."""
    name = job.partition or next((name for name, part in cluster.partitions.items() if part.default), None)
    if name is None:
        return  # the cluster's own rule says that it has no default partition
    if name not in cluster.partitions:
        at = (In("job", ("partition",)), In("cluster", ("partitions",)))
        yield unknown("the job", "partition", name, cluster.partitions, at)
        return
    yield from _gpus_and_hosts(job, cluster, name)
    yield from _time_and_team(job, cluster, name)


def _gpus_and_hosts(job: Job, cluster: Cluster, name: str) -> Iterator[Clash]:
    partition = cluster.partitions[name]
    groups = {group: cluster.nodes[group] for group in partition.nodes if group in cluster.nodes}
    largest = max((group.gpus.count if group.gpus else 0 for group in groups.values()), default=0)
    most = min(largest, partition.gpus_per_node or largest)
    if largest and job.gpus_per_node > most:
        limit = "gpus_per_node" if most < largest else "nodes"
        yield Clash(
            "too-many-gpus",
            f"the job asks {job.gpus_per_node} GPUs on each host, but partition `{name}` gives {most}",
            f"set gpus_per_node to {most} or less",
            (In("job", ("gpus_per_node",)), In("cluster", ("partitions", name, limit))),
        )
        return
    # where no host has GPUs the ranks run on its processors
    fit = [group for group in groups.values() if group.gpus and group.gpus.count >= job.gpus_per_node]
    fit = fit if largest else list(groups.values())
    hosts, spares = sum(len(group.names()) for group in fit), job.recovery.spare_nodes
    if job.nodes + spares > hosts:
        asked = f"{job.nodes} hosts" + (f" and {spares} spare" if spares else "")
        sides = (("nodes",), ("recovery", "spare_nodes")) if spares else (("nodes",),)
        yield Clash(
            "too-many-nodes",
            f"the job asks {asked}, but partition `{name}` has {hosts} with {job.gpus_per_node} GPUs",
            f"ask {hosts} hosts or fewer, spares included",
            (*(In("job", side) for side in sides), In("cluster", ("partitions", name, "nodes"))),
        )


def _time_and_team(job: Job, cluster: Cluster, name: str) -> Iterator[Clash]:
    partition = cluster.partitions[name]
    if job.time > partition.max_time:
        longest = format_duration(partition.max_time)
        yield Clash(
            "time-over-limit",
            f"the job asks {format_duration(job.time)}, but partition `{name}` gives {longest} at most",
            f"set `time: {longest}` or less; a training that is stopped there goes on in a successor",
            (In("job", ("time",)), In("cluster", ("partitions", name, "max_time"))),
        )
    user = cluster.users.get(job.user or "")
    team = job.team or (user.team if user else None)
    if partition.teams and team is not None and team not in partition.teams:
        yield Clash(
            "team-not-allowed",
            f"team `{team}` may not use partition `{name}`",
            f"take another partition, or add `{team}` to partitions.{name}.teams",
            (In("job", ("team",) if job.team else ("user",)), In("cluster", ("partitions", name, "teams"))),
        )
