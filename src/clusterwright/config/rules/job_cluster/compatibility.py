"""Rules about a job on a cluster: partition, user and team, folders, image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, In, is_within, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.environments import starters
from clusterwright.config.job import Container, Job
from clusterwright.errors import closest_name
from clusterwright.i18n import _
from clusterwright.units import format_duration


def partition_capacity(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Check that the partition exists, has the requested hosts, GPUs and time, and admits the job's team.

    It is the job's, or the cluster's default; without either, only an unmanaged cluster has a clash here.
    """
    name = job.partition or next((name for name, part in cluster.partitions.items() if part.default), None)
    if name is None:
        if cluster.unmanaged:  # otherwise a rule of the cluster reports the missing default partition
            yield _without_partition(cluster)
        return
    if name not in cluster.partitions:
        locs = (In("job", ("partition",)), In("cluster", ("partitions",)))
        yield unknown(_("the job"), _("partition"), name, cluster.partitions, locs)
        meant = closest_name(name, cluster.partitions)
        if meant is None:
            return
        name = meant
    for clash in (*_gpus_and_hosts(job, cluster, name), *_time_and_team(job, cluster, name)):
        yield replace(clash, needs=(("partition",),))


def _without_partition(cluster: Cluster) -> Clash:
    message = _("the job names no partition, and the cluster has no default partition")
    fix = _(
        "name a partition with --partition or `partition:`; the partitions are {names}",
        names=names(cluster.partitions),
    )
    return Clash("missing-key", message, fix, (In("job", ("partition",)),))


def _gpus_and_hosts(job: Job, cluster: Cluster, name: str) -> Iterator[Clash]:
    partition = cluster.partitions[name]
    groups = {group: cluster.nodes[group] for group in partition.nodes if group in cluster.nodes}
    largest = max((group.gpus.count if group.gpus else 0 for group in groups.values()), default=0)
    most = min(largest, partition.gpus_per_node or largest)
    if largest and job.gpus_per_node > most:
        limit = "gpus_per_node" if most < largest else "nodes"
        yield Clash(
            "too-many-gpus",
            _(
                "the job requests {gpus} GPUs per host, but partition `{partition}` has at most {limit}",
                gpus=job.gpus_per_node,
                partition=name,
                limit=most,
            ),
            _("set gpus_per_node to {limit} or less", limit=most),
            (In("job", ("gpus_per_node",)), In("cluster", ("partitions", name, limit))),
        )
    # On hosts without GPUs the ranks run on the CPUs.
    gpus = min(job.gpus_per_node, most) if largest else job.gpus_per_node
    suitable_groups = [group for group in groups.values() if group.gpus and group.gpus.count >= gpus]
    suitable_groups = suitable_groups if largest else list(groups.values())
    hosts, spares = sum(len(group.names()) for group in suitable_groups), job.recovery.spare_nodes
    if job.nodes + spares > hosts:
        sides = (("nodes",), ("recovery", "spare_nodes")) if spares else (("nodes",),)
        yield Clash(
            "too-many-nodes",
            _(
                "the job requests {requested} hosts (standby hosts included), but partition `{partition}` has {hosts} "
                "with {gpus} GPUs",
                requested=job.nodes + spares,
                partition=name,
                hosts=hosts,
                gpus=gpus,
            ),
            _("request at most {hosts} hosts, standby hosts included", hosts=hosts),
            (*(In("job", side) for side in sides), In("cluster", ("partitions", name, "nodes"))),
        )


def _time_and_team(job: Job, cluster: Cluster, name: str) -> Iterator[Clash]:
    partition = cluster.partitions[name]
    if job.time > partition.max_time:
        limit = format_duration(partition.max_time)
        message = _(
            "the job's time limit is {time}, but partition `{partition}` allows at most {limit}",
            time=format_duration(job.time),
            partition=name,
            limit=limit,
        )
        fix = _(
            "set `time: {limit}` or less; a training continues in a successor job after that", limit=limit
        )
        sides = (In("job", ("time",)), In("cluster", ("partitions", name, "max_time")))
        yield Clash("time-over-limit", message, fix, sides)
    user = cluster.users.get(job.user or "")
    team = job.team or (user.team if user else None)
    if partition.teams and team is not None and team not in partition.teams:
        yield Clash(
            "team-not-allowed",
            _("team `{team}` may not use partition `{partition}`", team=team, partition=name),
            _(
                "use another partition, or add `{team}` to partitions.{partition}.teams",
                team=team,
                partition=name,
            ),
            (In("job", ("team",) if job.team else ("user",)), In("cluster", ("partitions", name, "teams"))),
        )


def people(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Check that the user and the team, if given, exist, and the user is a member of the team.

    Nothing on an unmanaged cluster.
    """
    if cluster.unmanaged:
        return  # Slurm knows them, and its answer to sbatch is the check
    if job.user is not None and job.user not in cluster.users:
        locs = (In("job", ("user",)), In("cluster", ("users",)))
        yield unknown(_("the job"), _("user"), job.user, cluster.users, locs)
    if job.team is not None and job.team not in cluster.teams:
        locs = (In("job", ("team",)), In("cluster", ("teams",)))
        yield unknown(_("the job"), _("team"), job.team, cluster.teams, locs)
    user = cluster.users.get(job.user or "")
    if user and job.team in cluster.teams and job.team not in (user.team, *user.additional_teams):
        yield Clash(
            "team-mismatch",
            _(
                "the job is charged to team `{team}`, but user `{user}` is in team `{user_team}`",
                team=job.team,
                user=job.user,
                user_team=user.team,
            ),
            _("set `team: {team}`, or remove the line", team=user.team),
            (In("job", ("team",)), In("cluster", ("users", job.user or "", "team"))),
        )


def folders(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Check that the cluster has shared storage for runs, and the job's checkpoints and data are on it.

    Nothing on an unmanaged cluster.
    """
    if cluster.unmanaged:
        return  # it has file systems that Slurm does not know; the folder of runs was seen by a node
    shared = [folder.path for folder in cluster.storage.values()]
    if not shared:
        yield Clash(
            "folder-not-shared",
            _("the cluster has no shared folder, but runs are stored in one"),
            _("add a folder to `storage:` of the cluster file"),
            (In("cluster", ("storage",)),),
        )
        return
    required_paths: list[tuple[str, tuple[str | int, ...]]] = [
        (data.path, ("data", index, "path")) for index, data in enumerate(job.data)
    ]
    if job.checkpoint.folder is not None:
        required_paths.append((job.checkpoint.folder, ("checkpoint", "folder")))
    for path, loc in required_paths:
        if not any(PurePosixPath(path).is_relative_to(top) for top in shared):
            yield Clash(
                "folder-not-shared",
                _("{path} is not on shared storage, so each host would have a different one", path=path),
                _("choose a path below {folders}", folders=", ".join(shared)),
                (In("job", loc), In("cluster", ("storage",))),
            )


def staging(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Check that for `stage: local` the partition's hosts have one scratch folder and the prolog that prepares it."""
    index = next((index for index, data in enumerate(job.data) if data.stage == "local"), None)
    name = job.partition or next((name for name, part in cluster.partitions.items() if part.default), None)
    if index is None or name not in cluster.partitions:
        return
    loc = In("job", ("data", index, "stage"))
    if cluster.scratch_mount(name) is None:
        yield Clash(
            "no-scratch",
            _(
                "`stage: local` copies data to local disks, but the hosts of partition `{partition}` have no common "
                "scratch folder",
                partition=name,
            ),
            _("add a disk with the same `mount: /scratch` to each of its node groups, or set `stage: none`"),
            (loc, In("cluster", ("partitions", name, "nodes"))),
        )
    elif not cluster.slurm.health:
        yield Clash(
            "no-scratch",
            _("`stage: local` needs the prolog that prepares local scratch, but slurm.health is false"),
            _("set slurm.health to true, or set `stage: none`"),
            (loc, In("cluster", ("slurm", "health"))),
        )


_OFFERED = In("cluster", ("environments", "containers"))
_IMAGE = In("job", ("container", "image"))


def container(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Check that a container runtime of the cluster supports the job's image, and an image file is on shared storage.

    Nothing without a container.
    """
    container_spec = job.container
    if container_spec is None:
        return
    if cluster.environments.runtime(container_spec.image) is None:
        yield _not_offered(container_spec, cluster)
    shared = [folder.path for folder in cluster.storage.values()]
    if container_spec.image.startswith("/") and not any(
        is_within(container_spec.image, top) for top in shared
    ):
        yield Clash(
            "folder-not-shared",
            _("image {image} is not on shared storage, so other hosts lack it", image=container_spec.image),
            _("choose a path below {folders}", folders=", ".join(shared) or "storage.NAME.path"),
            (_IMAGE, In("cluster", ("storage",))),
        )


def _not_offered(container_spec: Container, cluster: Cluster) -> Clash:
    can = starters(container_spec.image)
    message = _(
        "image `{image}` needs the container runtime {runtimes}, but environments.containers is [{offered}]",
        image=container_spec.image,
        runtimes=" / ".join(can),
        offered=", ".join(cluster.environments.containers),
    )
    fix = _(
        "add `containers: [{runtime}]` to `environments:` of the cluster file, or use another image: a folder for "
        "oci, .sqsh for pyxis, .sif for apptainer",
        runtime=can[0],
    )
    return Clash("container-runtime", message, fix, (_IMAGE, _OFFERED))


_CAN = ("successor", "fail")


def container_host_loss(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Check that policies which call Slurm inside the image have runtime `oci`: others have no client there."""
    policy = job.recovery.on_host_loss
    if job.container is None or policy in _CAN:
        return
    runtime_name = cluster.environments.runtime(job.container.image)
    if runtime_name not in {"oci", None}:
        yield Clash(
            "container-host-loss",
            _(
                "`on_host_loss: {policy}` needs Slurm's commands after the loss of the supervisor's host, which images "
                "of {runtime} lack",
                policy=policy,
                runtime=runtime_name,
            ),
            _(
                "set `on_host_loss: successor`, which continues from the newest checkpoint; or use an OCI bundle"
            ),
            (In("job", ("recovery", "on_host_loss")), In("job", ("container", "image"))),
        )
