"""Partitions: their hosts, who may use them, and what a job gets by default."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.rules.cluster.people import NORMAL
from clusterwright.config.slurm import Partition
from clusterwright.i18n import _
from clusterwright.units import format_duration, format_size


def partitions(cluster: Cluster) -> Iterator[Clash]:
    """Each names compute groups and teams that exist and GPUs that a host has; one is the default."""
    yield from _defaults(cluster)
    for name, partition in cluster.partitions.items():
        yield from _groups(cluster, name, partition)
        for index, team in enumerate(partition.teams):
            if team not in cluster.teams:
                loc = ("partitions", name, "teams", index)
                yield unknown(
                    _("partition `{name}`", name=name), "team", team, cluster.teams, (loc, ("teams",))
                )


def _groups(cluster: Cluster, name: str, partition: Partition) -> Iterator[Clash]:
    for index, group_name in enumerate(partition.nodes):
        loc = ("partitions", name, "nodes", index)
        group = cluster.nodes.get(group_name)
        if group is None:
            yield unknown(
                _("partition `{name}`", name=name),
                _("node group"),
                group_name,
                cluster.nodes,
                (loc, ("nodes",)),
            )
        elif group.role != "compute":
            yield Clash(
                "not-compute",
                _(
                    "partition `{name}` holds node group `{group_name}`, whose role is {role}",
                    name=name,
                    group_name=group_name,
                    role=group.role,
                ),
                _("take `{group_name}` out; only compute hosts run jobs", group_name=group_name),
                (loc, ("nodes", group_name, "role")),
            )
        else:
            yield from _gpus(cluster, name, group_name)


def _gpus(cluster: Cluster, name: str, group_name: str) -> Iterator[Clash]:
    requested_gpus, gpus = cluster.partitions[name].gpus_per_node, cluster.nodes[group_name].gpus
    has = gpus.count if gpus else 0
    if requested_gpus is not None and requested_gpus > has:
        side = ("nodes", group_name, "gpus", "count") if gpus else ("nodes", group_name)
        fix = _("set gpus_per_node to {has}", has=has) if has else _("take gpus_per_node out")
        yield Clash(
            "gres-mismatch",
            _(
                "partition `{name}` asks {requested_gpus} GPUs per node, but a host of "
                "`{group_name}` has {has}",
                name=name,
                requested_gpus=requested_gpus,
                group_name=group_name,
                has=has,
            ),
            _(
                "{fix}, or give `{name}` a node group with {requested_gpus} GPUs",
                fix=fix,
                name=name,
                requested_gpus=requested_gpus,
            ),
            (("partitions", name, "gpus_per_node"), side),
        )


def _defaults(cluster: Cluster) -> Iterator[Clash]:
    chosen = [name for name, partition in cluster.partitions.items() if partition.default]
    if not chosen:
        message = _("no partition is the default, so a job that names none would be refused")
        yield Clash(
            "default-partition", message, _("set `default: true` on one partition"), (("partitions",),)
        )
    if len(chosen) > 1:
        names = " and ".join(f"`{name}`" for name in chosen)
        yield Clash(
            "default-partition",
            _("{names} are each the default partition", names=names),
            _("set `default: true` on one of them only"),
            tuple(("partitions", name, "default") for name in chosen),
        )


def partition_hosts(cluster: Cluster) -> Iterator[Clash]:
    """A job of several hosts finds one network and one kind of GPU, whichever hosts of its partition it gets."""
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
                "partition `{name}` holds {names} on the compute network and {names2} that {ending} "
                "not: a training over both would not find its peers",
                name=name,
                names=names(on),
                names2=names(off),
                ending="is" if len(off) == 1 else "are",
            ),
            _("make a partition for each, or give all of them an address on the compute network"),
            tuple(("nodes", group, "addresses") for group in (on[0], *off)),
        )


def _mixed(name: str, groups: dict[str, NodeGroup]) -> Iterator[Clash]:
    """Hosts without GPUs are never given to a job that asks for some."""
    kinds: dict[tuple[str, int | None], str] = {}
    for group_name, group in groups.items():
        if group.gpus:
            kinds.setdefault((group.gpus.model, group.gpus.memory), group_name)
    if len(kinds) > 1:
        kinds_text = " and ".join(
            f"{model}{f' {format_size(size)}' if size else ''}" for model, size in kinds
        )
        yield Clash(
            "mixed-gpus",
            _(
                "partition `{name}` mixes {kinds_text}: a training over both goes at the pace of the "
                "slower, and with the memory of the smaller",
                name=name,
                kinds_text=kinds_text,
            ),
            _("make a partition for each kind, or set `max_nodes: 1` so that no job has both"),
            tuple(("nodes", group, "gpus", "model") for group in kinds.values()),
        )


def _idle(cluster: Cluster) -> Iterator[Clash]:
    used = {group for partition in cluster.partitions.values() for group in partition.nodes}
    for name, group in cluster.nodes.items():
        if group.role == "compute" and name not in used:
            first_partition = next(iter(cluster.partitions), "NAME")
            yield Clash(
                "group-without-partition",
                _("node group `{name}` is in no partition, so no job would ever run there", name=name),
                _(
                    "add `{name}` to partitions.{first_partition}.nodes, or make a partition for it",
                    name=name,
                    first_partition=first_partition,
                ),
                (("nodes", name), ("partitions",)),
            )


def partition_teams(cluster: Cluster) -> Iterator[Clash]:
    """No team with members is left out of all partitions."""
    lists = [partition.teams for partition in cluster.partitions.values()]
    if not lists or not all(lists) or not {team for teams in lists for team in teams} <= set(cluster.teams):
        return  # a partition without a list is open to all; a name that is unknown was to be one of them
    members = {team for user in cluster.users.values() for team in (user.team, *user.additional_teams)}
    for name in cluster.teams:
        if name in members and not any(name in teams for teams in lists):
            first_partition = next(iter(cluster.partitions))
            yield Clash(
                "team-shut-out",
                _(
                    "every partition lists its teams, and `{name}` is in no list: its members could run "
                    "nothing",
                    name=name,
                ),
                _(
                    "add `{name}` to partitions.{first_partition}.teams or another's",
                    name=name,
                    first_partition=first_partition,
                ),
                (
                    ("teams", name),
                    *(("partitions", partition_name, "teams") for partition_name in cluster.partitions),
                ),
            )


def partition_qos(cluster: Cluster) -> Iterator[Clash]:
    """Each quality of service of a partition exists, and each side of team and quality has another side."""
    valid_qos = [NORMAL, *(name for name in cluster.qos if name != NORMAL)]
    for name, partition in cluster.partitions.items():
        for index, qos_name in enumerate(partition.qos):
            loc = ("partitions", name, "qos", index)
            if qos_name not in valid_qos:
                yield unknown(
                    _("partition `{name}`", name=name),
                    _("quality of service"),
                    qos_name,
                    valid_qos,
                    (loc, ("qos",)),
                )
            elif not _allowed_teams(cluster, partition, qos_name):
                yield Clash(
                    "qos-unusable",
                    _(
                        "partition `{name}` takes qos `{qos_name}`, but no team that may use the one may "
                        "name the other",
                        name=name,
                        qos_name=qos_name,
                    ),
                    _(
                        "add a team of partitions.{name}.teams to qos.{qos_name}.teams, or take `{qos_name}` "
                        "out here",
                        name=name,
                        qos_name=qos_name,
                    ),
                    (loc, ("qos", qos_name, "teams"), ("partitions", name, "teams")),
                )
        yield from _left_out(cluster, name, partition)


def _allowed_teams(cluster: Cluster, partition: Partition, qos: str) -> set[str]:
    """Teams that may use the partition and name the quality of service."""
    teams = set(partition.teams or cluster.teams)
    allowed = cluster.qos[qos].teams if qos in cluster.qos else ()
    return teams & set(allowed) if allowed else teams


def _left_out(cluster: Cluster, name: str, partition: Partition) -> Iterator[Clash]:
    """Teams that the partition lists, and that may name nothing there."""
    listed = [qos_name for qos_name in partition.qos if qos_name in cluster.qos or qos_name == NORMAL]
    for index, team in enumerate(partition.teams):
        if listed and not any(team in _allowed_teams(cluster, partition, qos_name) for qos_name in listed):
            yield Clash(
                "qos-unusable",
                _(
                    "team `{team}` may use partition `{name}`, but may name no quality of service that "
                    "it takes",
                    team=team,
                    name=name,
                ),
                _(
                    "add `{team}` to the teams of one of {listed}, or take it out here",
                    team=team,
                    listed=", ".join(listed),
                ),
                (("partitions", name, "teams", index), ("partitions", name, "qos")),
            )


# As provision/render makes RealMemory: the kernel and firmware keep 1/32 of what is built in.
_RESERVE_DIVISOR = 32
_OF_GPUS = ("gpus_per_node", "headroom_percent", "cpus_per_gpu", "memory_per_gpu")


def job_defaults(cluster: Cluster) -> Iterator[Clash]:
    """The default time is within the longest, and every GPU of a host finds its CPUs and memory."""
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
        longest = format_duration(partition.max_time)
        yield Clash(
            "default-time",
            _(
                "partition `{name}` gives a job {duration} by default, and {longest} at most",
                name=name,
                duration=format_duration(partition.default_time),
                longest=longest,
            ),
            _("set default_time to {longest} or less", longest=longest),
            (("partitions", name, "default_time"), ("partitions", name, "max_time")),
        )


def _no_gpus(name: str, partition: Partition) -> Iterator[Clash]:
    """Too many `gpus_per_node` is the finding of another rule."""
    for field in _OF_GPUS[1:]:
        if getattr(partition, field):
            yield Clash(
                "partition-without-gpus",
                _("partition `{name}` has no GPUs, so {field} means nothing there", name=name, field=field),
                _("take {field} out, or add a node group with GPUs", field=field),
                (("partitions", name, field), ("partitions", name, "nodes")),
            )


def _cpus(name: str, partition: Partition, group_name: str, group: NodeGroup) -> Iterator[Clash]:
    per, gpus = partition.cpus_per_gpu, group.gpus.count if group.gpus else 0
    if per is not None and per * gpus > group.cpus.threads:
        yield Clash(
            "cpus-per-gpu",
            _(
                "{gpus} GPUs with {per} CPUs each are {per2} CPUs, but a host of `{group_name}` has "
                "{threads}",
                gpus=gpus,
                per=per,
                per2=per * gpus,
                group_name=group_name,
                threads=group.cpus.threads,
            ),
            _("set cpus_per_gpu to {threads} or less, or take it out", threads=group.cpus.threads // gpus),
            (("partitions", name, "cpus_per_gpu"), ("nodes", group_name, "cpus")),
        )


def _memory(name: str, partition: Partition, group_name: str, group: NodeGroup) -> Iterator[Clash]:
    per, gpus = partition.memory_per_gpu, group.gpus.count if group.gpus else 0
    capacity = group.memory * (_RESERVE_DIVISOR - 1) // _RESERVE_DIVISOR - group.memory_reserved
    if per is not None and per * gpus > capacity > 0:
        most = (
            format_size(capacity // gpus // 2**30 * 2**30)
            if capacity // gpus >= 2**30
            else format_size(capacity // gpus)
        )
        yield Clash(
            "memory-per-gpu",
            _(
                "{gpus} GPUs with {size} each take more than the {capacity:.1f} GiB that a host of "
                "`{group_name}` has for jobs",
                gpus=gpus,
                size=format_size(per),
                capacity=capacity / 2**30,
                group_name=group_name,
            ),
            _("set memory_per_gpu to {most} or less, or take it out", most=most),
            (("partitions", name, "memory_per_gpu"), ("nodes", group_name, "memory")),
        )
