"""What a session is to be, and whether the cluster has it; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.slurm import Partition
from clusterwright.errors import EXIT_USAGE, WrightError, closest_name
from clusterwright.i18n import _
from clusterwright.provision.render.slurm_nodes import free_memory_mib
from clusterwright.units import MiB, format_duration

Kind = Literal["jupyter", "vscode", "shell"]


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """As it was typed; None is the cluster's own choice."""

    kind: Kind
    gpus: int
    time_s: int
    idle_s: int
    cpus: int | None = None
    memory_bytes: int | None = None
    partition: str = ""
    team: str | None = None
    user: str | None = None
    python: str = ""
    folder: str = ""
    port: int = 0
    modules: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Fitted:
    """What Slurm is asked for."""

    partition: str
    gres: str | None
    cpus: int
    memory_mib: int
    time_s: int


def checked(options: SessionOptions, cluster: Cluster) -> Fitted:
    """The wish with what was left out filled in.

    Raises:
        WrightError: no such partition, no host of it with so many GPUs, or more time than it gives.
    """
    name = _partition(options, cluster)
    part = cluster.partitions[name]
    group = _group(options, name, part, cluster)
    if options.time_s > part.max_time:
        limit = format_duration(part.max_time)
        raise _refused(
            "dev-time",
            _(
                "{duration} is longer than `{name}` gives, which is {limit}",
                duration=format_duration(options.time_s),
                name=name,
                limit=limit,
            ),
            _("--time {limit}", limit=limit),
        )
    cpus, memory_mib = _share(options, part, group)
    return Fitted(
        name,
        f"gpu:{options.gpus}" if options.gpus else None,
        options.cpus or cpus,
        options.memory_bytes // MiB if options.memory_bytes else memory_mib,
        options.time_s,
    )


def _share(options: SessionOptions, part: Partition, group: NodeGroup) -> tuple[int, int]:
    """What goes with the GPUs, as Slurm's own defaults of the partition have it; without any, that of one CPU."""
    free, threads = free_memory_mib(group), group.cpus.threads
    if not options.gpus or group.gpus is None:
        return 1, free // threads
    cpus = (part.cpus_per_gpu or 0) * options.gpus or threads * options.gpus // group.gpus.count
    memory = (part.memory_per_gpu or 0) * options.gpus // MiB or free * options.gpus // group.gpus.count
    return min(threads, max(1, cpus)), min(free, memory)


def _partition(options: SessionOptions, cluster: Cluster) -> str:
    names = list(cluster.partitions)
    if options.partition:
        if options.partition not in names:
            suggestion = closest_name(options.partition, names)
            raise _refused(
                "dev-partition",
                _(
                    "there is no partition `{partition}`; there are: {names}",
                    partition=options.partition,
                    names=", ".join(names),
                ),
                _("--partition {suggestion}", suggestion=suggestion or names[0])
                if names
                else _("add one to the cluster file"),
            )
        return options.partition
    if not names:
        raise _refused("dev-partition", _("the cluster has no partition"), _("add one under `partitions:`"))
    return next((name for name in names if cluster.partitions[name].default), names[0])


def _group(options: SessionOptions, name: str, part: Partition, cluster: Cluster) -> NodeGroup:
    """The smallest hosts that have so many GPUs."""
    groups = [cluster.nodes[group_name] for group_name in part.nodes]
    counts = [group.gpus.count if group.gpus else 0 for group in groups]
    most = min(max(counts), part.gpus_per_node or max(counts))
    if options.gpus > most:
        raise _refused(
            "dev-gpus",
            _(
                "{gpus} GPUs are more than a host of `{name}` gives, which is {most}",
                gpus=options.gpus,
                name=name,
                most=most,
            ),
            _("--gpus {most}", most=most),
        )
    return min(
        (pair for pair in zip(counts, groups, strict=True) if pair[0] >= options.gpus),
        key=lambda pair: pair[0],
    )[1]


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
