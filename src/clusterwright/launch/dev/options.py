"""Options of a session, and their check against the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.config.nodes import NodeGroup
from clusterwright.config.slurm import Partition
from clusterwright.errors import EXIT_USAGE, WrightError, closest_name
from clusterwright.i18n import N_, _
from clusterwright.launch.share import host_cpus, host_memory_mib, part_of
from clusterwright.units import MiB, format_duration

Kind = Literal["jupyter", "vscode", "shell"]
_ADD_PARTITION = N_("add a partition to `partitions:` of the cluster file")


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options of `wright dev`; None means the cluster's default."""

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
    """The resources that the job requests from Slurm."""

    partition: str
    gres: str | None
    cpus: int
    memory_mib: int | None  # None where Slurm does not know that of the nodes
    time_s: int


def checked(options: SessionOptions, cluster: Cluster) -> Fitted:
    """Return the options of a session with defaults filled in; raise WrightError if they do not fit the cluster.

    Raises:
        WrightError: the partition does not exist, has no host with enough GPUs, or allows less time.
    """
    name = _partition(options, cluster)
    part = cluster.partitions[name]
    group = _group(options, name, part, cluster)
    if options.time_s > part.max_time:
        limit = format_duration(part.max_time)
        raise _refused(
            "dev-time",
            _(
                "{time} is over the time limit of partition `{partition}`, {limit}",
                time=format_duration(options.time_s),
                partition=name,
                limit=limit,
            ),
            _("use --time {limit} or less", limit=limit),
        )
    cpus, memory_mib = _share(options, part, group, cluster)
    return Fitted(
        name,
        f"gpu:{options.gpus}" if options.gpus else None,
        options.cpus or cpus,
        options.memory_bytes // MiB if options.memory_bytes else memory_mib,
        options.time_s,
    )


def _share(
    options: SessionOptions, part: Partition, group: NodeGroup, cluster: Cluster
) -> tuple[int, int | None]:
    """Return a session's CPUs and its memory in MiB: its GPUs' share of a host, by the partition's defaults if set.

    Without GPUs, one CPU and its share of memory. Memory is None if the host's is not known.
    """
    free, cpus_of_host = host_memory_mib(group, cluster), host_cpus(group)
    if not options.gpus or group.gpus is None:
        return 1, part_of(free, 1, cpus_of_host)
    cpus = (part.cpus_per_gpu or 0) * options.gpus or cpus_of_host * options.gpus // group.gpus.count
    memory = part_of(free, options.gpus, group.gpus.count)
    if free is not None and part.memory_per_gpu:
        memory = min(free, part.memory_per_gpu * options.gpus // MiB)
    return min(cpus_of_host, max(1, cpus)), memory


def _partition(options: SessionOptions, cluster: Cluster) -> str:
    names = list(cluster.partitions)
    if options.partition:
        if options.partition not in names:
            suggestion = closest_name(options.partition, names)
            message = _(
                "partition `{partition}` does not exist; the partitions are {names}",
                partition=options.partition,
                names=", ".join(names),
            )
            fix = _("use --partition {name}", name=suggestion or names[0]) if names else _(_ADD_PARTITION)
            raise _refused("dev-partition", message, fix)
        return options.partition
    if not names:
        raise _refused("dev-partition", _("the cluster has no partition"), _(_ADD_PARTITION))
    return next((name for name in names if cluster.partitions[name].default), names[0])


def _group(options: SessionOptions, name: str, part: Partition, cluster: Cluster) -> NodeGroup:
    """Return the partition's node group with the fewest GPUs per host that are enough for the session.

    Raises:
        WrightError: `dev-gpus`: no host, or the partition's limit, allows so many.
    """
    groups = [cluster.nodes[group_name] for group_name in part.nodes]
    counts = [group.gpus.count if group.gpus else 0 for group in groups]
    most = min(max(counts), part.gpus_per_node or max(counts))
    if options.gpus > most:
        raise _refused(
            "dev-gpus",
            _(
                "{gpus} GPUs are more than a host of partition `{partition}` has, {limit}",
                gpus=options.gpus,
                partition=name,
                limit=most,
            ),
            _("use --gpus {limit} or less", limit=most),
        )
    return min(
        (pair for pair in zip(counts, groups, strict=True) if pair[0] >= options.gpus),
        key=lambda pair: pair[0],
    )[1]


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
