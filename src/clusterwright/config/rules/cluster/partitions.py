"""Rules about partitions: their hosts, teams, qualities of service, and defaults of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.config.clash import Clash, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.rules.cluster.people import NORMAL
from clusterwright.config.slurm import Partition
from clusterwright.i18n import _
from clusterwright.units import GiB, format_duration, format_size, human_size


def partitions(cluster: Cluster) -> Iterator[Clash]:
    """Check that groups and teams exist, groups are compute hosts with enough GPUs, and one partition is default."""
    yield from _defaults(cluster)
    for name, partition in cluster.partitions.items():
        yield from _groups(cluster, name, partition)
        for index, team in enumerate(partition.teams):
            if team not in cluster.teams:
                loc = ("partitions", name, "teams", index)
                yield unknown(
                    _("partition `{name}`", name=name), _("team"), team, cluster.teams, (loc, ("teams",))
                )


def _groups(cluster: Cluster, name: str, partition: Partition) -> Iterator[Clash]:
    for index, group_name in enumerate(partition.nodes):
        loc = ("partitions", name, "nodes", index)
        group = cluster.nodes.get(group_name)
        if group is None:
            subject = _("partition `{name}`", name=name)
            yield unknown(subject, _("node group"), group_name, cluster.nodes, (loc, ("nodes",)))
        elif group.role != "compute" and not (group.role == "control" and cluster.slurm.is_of_site):
            yield Clash(
                "not-compute",
                _(
                    "partition `{partition}` contains node group `{group}`, whose role is {role}",
                    partition=name,
                    group=group_name,
                    role=group.role,
                ),
                _("remove `{group}`; only compute hosts run jobs", group=group_name),
                (loc, ("nodes", group_name, "role")),
            )
        else:
            yield from _gpus(cluster, name, group_name)


def _gpus(cluster: Cluster, name: str, group_name: str) -> Iterator[Clash]:
    requested_gpus, gpus = cluster.partitions[name].gpus_per_node, cluster.nodes[group_name].gpus
    has = gpus.count if gpus else 0
    if requested_gpus is not None and requested_gpus > has:
        side = ("nodes", group_name, "gpus", "count") if gpus else ("nodes", group_name)
        values = {"partition": name, "requested": requested_gpus, "group": group_name, "gpus": has}
        message = _(
            "partition `{partition}` has gpus_per_node {requested}, but a host of `{group}` has {gpus} GPUs",
            **values,
        )
        if has:
            fix = _(
                "set gpus_per_node to {gpus}, or use a node group with {requested} GPUs per host in `{partition}`",
                **values,
            )
        else:
            fix = _(
                "remove gpus_per_node, or use a node group with {requested} GPUs per host in `{partition}`",
                **values,
            )
        yield Clash("gres-mismatch", message, fix, (("partitions", name, "gpus_per_node"), side))


def _defaults(cluster: Cluster) -> Iterator[Clash]:
    chosen = [name for name, partition in cluster.partitions.items() if partition.default]
    if not chosen and not cluster.slurm.is_of_site:
        message = _("no partition is the default, so Slurm would reject jobs without a partition")
        fix = _("set `default: true` on one partition")
        yield Clash("default-partition", message, fix, (("partitions",),))
    if len(chosen) > 1:
        message = _("more than one partition is the default: {names}", names=names(chosen))
        fix = _("set `default: true` on only one partition")
        locs = tuple(("partitions", name, "default") for name in chosen)
        yield Clash("default-partition", message, fix, locs)


def partition_hosts(cluster: Cluster) -> Iterator[Clash]:
    """Check that hosts of a multi-host partition have equal networks and GPUs, and each group has a partition.

    Partitions whose jobs have one host pass the first; a site's own slurm.conf is not checked.
    """
    if cluster.slurm.is_of_site:  # its partitions are as they are
        return
    for name, partition in cluster.partitions.items():
        groups = {
            group: cluster.nodes[group]
            for group in partition.nodes
            if group in cluster.nodes and cluster.nodes[group].role == "compute"
        }
        if sum(len(group.names()) for group in groups.values()) > 1 and partition.max_nodes != 1:
            yield from _two_networks(name, groups)
            yield from _mixed(name, groups)
    yield from _idle(cluster)


def _two_networks(name: str, groups: dict[str, NodeGroup]) -> Iterator[Clash]:
    on = [group for group, node_group in groups.items() if "compute" in node_group.addresses]
    off = [group for group, node_group in groups.items() if "compute" not in node_group.addresses]
    if on and off:
        yield Clash(
            "two-networks",
            _(
                "partition `{partition}` mixes node groups with the compute network ({connected}) and without it "
                "({others}): ranks of a training on both cannot connect",
                partition=name,
                connected=names(on),
                others=names(off),
            ),
            _("create a partition for each, or add an address on the compute network to all of them"),
            tuple(("nodes", group, "addresses") for group in (on[0], *off)),
        )


def _mixed(name: str, groups: dict[str, NodeGroup]) -> Iterator[Clash]:
    """Yield a clash if GPU models or memory sizes differ within a partition; groups without GPUs do not count."""
    kinds: dict[tuple[str, int | None], str] = {}
    for group_name, group in groups.items():
        if group.gpus:
            kinds.setdefault((group.gpus.model, group.gpus.memory), group_name)
    if len(kinds) > 1:
        models = ", ".join(f"{model} {format_size(size)}" if size else model for model, size in kinds)
        yield Clash(
            "mixed-gpus",
            _(
                "partition `{partition}` mixes GPUs ({models}): a training on both is limited by the slower GPU and "
                "by the smaller memory",
                partition=name,
                models=models,
            ),
            _("create a partition for each GPU model, or set `max_nodes: 1` so that no job gets both"),
            tuple(("nodes", group, "gpus", "model") for group in kinds.values()),
        )


def _idle(cluster: Cluster) -> Iterator[Clash]:
    used = {group for partition in cluster.partitions.values() for group in partition.nodes}
    for name, group in cluster.nodes.items():
        if group.role == "compute" and name not in used:
            message = _("node group `{group}` is in no partition, so no job can run on it", group=name)
            fix = _(
                "add `{group}` to partitions.{partition}.nodes, or create a partition for it",
                group=name,
                partition=next(iter(cluster.partitions), "NAME"),
            )
            yield Clash("group-without-partition", message, fix, (("nodes", name), ("partitions",)))


def partition_teams(cluster: Cluster) -> Iterator[Clash]:
    """Check that every team with members may use at least one partition; one without `teams` is open to all.

    Nothing if a partition lists an unknown team, which is the clash of another rule.
    """
    lists = [partition.teams for partition in cluster.partitions.values()]
    listed = {team for teams in lists for team in teams}
    if not lists or not all(lists) or not listed <= set(cluster.teams):
        return  # a partition without teams is open to all; an unknown name is a misspelled team
    members = {team for user in cluster.users.values() for team in (user.team, *user.additional_teams)}
    for name in cluster.teams:
        if name in members and name not in listed:
            message = _("no partition lists team `{team}`, so its members cannot run jobs", team=name)
            partition = next(iter(cluster.partitions))
            fix = _(
                "add `{team}` to partitions.{partition}.teams or to another partition",
                team=name,
                partition=partition,
            )
            locs = (
                ("teams", name),
                *(("partitions", partition, "teams") for partition in cluster.partitions),
            )
            yield Clash("team-shut-out", message, fix, locs)


def partition_qos(cluster: Cluster) -> Iterator[Clash]:
    """Check that each QOS of a partition exists, and some team may use both it and the partition.

    Also that each team of the partition may use one of its QOS. One without teams is open to all.
    """
    teams_by_qos = {
        NORMAL: frozenset[str](),
        **{name: frozenset(qos.teams) for name, qos in cluster.qos.items()},
    }
    for name, partition in cluster.partitions.items():
        unusable = {
            qos_name
            for qos_name in dict.fromkeys(partition.qos)
            if not _have_common_team(partition, teams_by_qos.get(qos_name, frozenset()))
        }
        for index, qos_name in enumerate(partition.qos):
            loc = ("partitions", name, "qos", index)
            if qos_name not in teams_by_qos:
                subject = _("partition `{name}`", name=name)
                yield unknown(subject, _("quality of service"), qos_name, teams_by_qos, (loc, ("qos",)))
            elif qos_name in unusable:
                values = {"partition": name, "qos": qos_name}
                message = _("no team may use both partition `{partition}` and its qos `{qos}`", **values)
                fix = _(
                    "add a team of partitions.{partition}.teams to qos.{qos}.teams, or remove `{qos}` here",
                    **values,
                )
                locs = (loc, ("qos", qos_name, "teams"), ("partitions", name, "teams"))
                yield Clash("qos-unusable", message, fix, locs)
        yield from _left_out(name, partition, teams_by_qos)


def _have_common_team(partition: Partition, qos_teams: frozenset[str]) -> bool:
    """Return whether a team may use both the partition and the quality of service; without teams both are for all."""
    return not partition.teams or not qos_teams or not qos_teams.isdisjoint(partition.teams)


def _left_out(name: str, partition: Partition, teams_by_qos: Mapping[str, frozenset[str]]) -> Iterator[Clash]:
    """Yield a clash for each team of the partition that may use none of its qualities of service.

    Nothing if the partition lists none, or one that is open to all.
    """
    listed = [qos_name for qos_name in dict.fromkeys(partition.qos) if qos_name in teams_by_qos]
    if not listed or not all(teams_by_qos[qos_name] for qos_name in listed):
        return
    allowed_teams = frozenset[str]().union(*(teams_by_qos[qos_name] for qos_name in listed))
    for index, team in enumerate(partition.teams):
        if team not in allowed_teams:
            message = _(
                "team `{team}` may use partition `{partition}`, but none of its qualities of service",
                team=team,
                partition=name,
            )
            fix = _(
                "add `{team}` to the teams of one of these qos, or remove it here: {names}",
                team=team,
                names=", ".join(listed),
            )
            locs = (("partitions", name, "teams", index), ("partitions", name, "qos"))
            yield Clash("qos-unusable", message, fix, locs)


# The same as RealMemory in provision/render: kernel and firmware reserve 1/32 of the installed memory.
_RESERVE_DIVISOR = 32
_OF_GPUS = ("gpus_per_node", "headroom_percent", "cpus_per_gpu", "memory_per_gpu")


def job_defaults(cluster: Cluster) -> Iterator[Clash]:
    """Check that the default time is at most the maximum, and hosts have the default CPUs and memory for all GPUs.

    Partitions without GPUs must not set these.
    """
    for name, partition in cluster.partitions.items():
        yield from _time(name, partition)
        groups = {
            group: cluster.nodes[group]
            for group in partition.nodes
            if group in cluster.nodes and cluster.nodes[group].role == "compute"
        }
        if groups and not any(group.gpus for group in groups.values()):
            yield from _no_gpus(name, partition)
            continue
        for group_name, group in groups.items():
            yield from _cpus(name, partition, group_name, group)
            yield from _memory(name, partition, group_name, group)


def _time(name: str, partition: Partition) -> Iterator[Clash]:
    if partition.default_time is not None and partition.default_time > partition.max_time:
        limit = format_duration(partition.max_time)
        message = _(
            "partition `{partition}` has default_time {default}, but max_time {limit}",
            partition=name,
            default=format_duration(partition.default_time),
            limit=limit,
        )
        locs = (("partitions", name, "default_time"), ("partitions", name, "max_time"))
        yield Clash("default-time", message, _("set default_time to {limit} or less", limit=limit), locs)


def _no_gpus(name: str, partition: Partition) -> Iterator[Clash]:
    """Yield a clash for GPU fields of a partition without GPUs; another rule reports `gpus_per_node`."""
    for field in _OF_GPUS[1:]:
        if getattr(partition, field):
            yield Clash(
                "partition-without-gpus",
                _(
                    "partition `{partition}` has no GPUs, so {field} has no effect",
                    partition=name,
                    field=field,
                ),
                _("remove {field}, or add a node group with GPUs", field=field),
                (("partitions", name, field), ("partitions", name, "nodes")),
            )


def _cpus(name: str, partition: Partition, group_name: str, group: NodeGroup) -> Iterator[Clash]:
    per, gpus = partition.cpus_per_gpu, group.gpus.count if group.gpus else 0
    if per is not None and per * gpus > group.cpus.threads:
        yield Clash(
            "cpus-per-gpu",
            _(
                "{gpus} GPUs with {cpus} CPUs each need {total} CPUs, but a host of `{group}` has {available}",
                gpus=gpus,
                cpus=per,
                total=per * gpus,
                group=group_name,
                available=group.cpus.threads,
            ),
            _(
                "set cpus_per_gpu to {limit} or less, or remove cpus_per_gpu",
                limit=group.cpus.threads // gpus,
            ),
            (("partitions", name, "cpus_per_gpu"), ("nodes", group_name, "cpus")),
        )


def _memory(name: str, partition: Partition, group_name: str, group: NodeGroup) -> Iterator[Clash]:
    per, gpus = partition.memory_per_gpu, group.gpus.count if group.gpus else 0
    capacity = group.memory * (_RESERVE_DIVISOR - 1) // _RESERVE_DIVISOR - group.memory_reserved
    if per is not None and per * gpus > capacity > 0:
        share = capacity // gpus
        limit = format_size(share // GiB * GiB if share >= GiB else share)
        message = _(
            "{gpus} GPUs with {memory} each need more than the {available} that a host of `{group}` has for jobs",
            gpus=gpus,
            memory=format_size(per),
            available=human_size(capacity),
            group=group_name,
        )
        fix = _("set memory_per_gpu to {limit} or less, or remove memory_per_gpu", limit=limit)
        locs = (("partitions", name, "memory_per_gpu"), ("nodes", group_name, "memory"))
        yield Clash("memory-per-gpu", message, fix, locs)
