"""A job fits the cluster: its partition, people, folders and image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from clusterwright.config.clash import Clash, In, is_within, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.images import runtime, starters
from clusterwright.config.job import Container, Job
from clusterwright.config.scratch import scratch_of
from clusterwright.i18n import _
from clusterwright.units import format_duration


def partition_capacity(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """The partition exists and has the hosts, GPUs and time that the job asks, for its team."""
    name = job.partition or next((name for name, part in cluster.partitions.items() if part.default), None)
    if name is None:
        return  # the cluster's own rule says that it has no default partition
    if name not in cluster.partitions:
        locs = (In("job", ("partition",)), In("cluster", ("partitions",)))
        yield unknown(_("the job"), "partition", name, cluster.partitions, locs)
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
            _(
                "the job asks {gpus_per_node} GPUs on each host, but partition `{name}` gives {most}",
                gpus_per_node=job.gpus_per_node,
                name=name,
                most=most,
            ),
            _("set gpus_per_node to {most} or less", most=most),
            (In("job", ("gpus_per_node",)), In("cluster", ("partitions", name, limit))),
        )
        return
    # where no host has GPUs the ranks run on its processors
    suitable_groups = [
        group for group in groups.values() if group.gpus and group.gpus.count >= job.gpus_per_node
    ]
    suitable_groups = suitable_groups if largest else list(groups.values())
    hosts, spares = sum(len(group.names()) for group in suitable_groups), job.recovery.spare_nodes
    if job.nodes + spares > hosts:
        request_text = f"{job.nodes} hosts" + (f" and {spares} spare" if spares else "")
        sides = (("nodes",), ("recovery", "spare_nodes")) if spares else (("nodes",),)
        yield Clash(
            "too-many-nodes",
            _(
                "the job asks {request_text}, but partition `{name}` has {hosts} with {gpus_per_node} GPUs",
                request_text=request_text,
                name=name,
                hosts=hosts,
                gpus_per_node=job.gpus_per_node,
            ),
            _("ask {hosts} hosts or fewer, spares included", hosts=hosts),
            (*(In("job", side) for side in sides), In("cluster", ("partitions", name, "nodes"))),
        )


def _time_and_team(job: Job, cluster: Cluster, name: str) -> Iterator[Clash]:
    partition = cluster.partitions[name]
    if job.time > partition.max_time:
        longest = format_duration(partition.max_time)
        yield Clash(
            "time-over-limit",
            _(
                "the job asks {duration}, but partition `{name}` gives {longest} at most",
                duration=format_duration(job.time),
                name=name,
                longest=longest,
            ),
            _(
                "set `time: {longest}` or less; a training that is stopped there goes on in a successor",
                longest=longest,
            ),
            (In("job", ("time",)), In("cluster", ("partitions", name, "max_time"))),
        )
    user = cluster.users.get(job.user or "")
    team = job.team or (user.team if user else None)
    if partition.teams and team is not None and team not in partition.teams:
        yield Clash(
            "team-not-allowed",
            _("team `{team}` may not use partition `{name}`", team=team, name=name),
            _("take another partition, or add `{team}` to partitions.{name}.teams", team=team, name=name),
            (In("job", ("team",) if job.team else ("user",)), In("cluster", ("partitions", name, "teams"))),
        )


def people(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """The user and the team exist, and belong together."""
    if job.user is not None and job.user not in cluster.users:
        yield unknown(
            _("the job"), "user", job.user, cluster.users, (In("job", ("user",)), In("cluster", ("users",)))
        )
    if job.team is not None and job.team not in cluster.teams:
        yield unknown(
            _("the job"), "team", job.team, cluster.teams, (In("job", ("team",)), In("cluster", ("teams",)))
        )
    user = cluster.users.get(job.user or "")
    if user and job.team in cluster.teams and job.team != user.team:
        yield Clash(
            "team-mismatch",
            _(
                "the job counts against team `{team}`, but user `{user}` is of team `{team2}`",
                team=job.team,
                user=job.user,
                team2=user.team,
            ),
            _("set `team: {team}`, or take the line out", team=user.team),
            (In("job", ("team",)), In("cluster", ("users", job.user or "", "team"))),
        )


def folders(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Checkpoints and data are on shared storage, and there is some for the run's own folder."""
    shared = [folder.path for folder in cluster.storage.values()]
    if not shared:
        yield Clash(
            "folder-not-shared",
            _("the cluster has no shared folder, and a run is kept in one"),
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
                _("{path} is not on shared storage, so each host would have its own", path=path),
                _("put it beneath {shared}", shared=" or ".join(shared)),
                (In("job", loc), In("cluster", ("storage",))),
            )


def staging(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """The partition's hosts have the same scratch, and the prolog that makes places on it is on."""
    index = next((index for index, data in enumerate(job.data) if data.stage == "local"), None)
    name = job.partition or next((name for name, part in cluster.partitions.items() if part.default), None)
    if index is None or name not in cluster.partitions:
        return
    loc = In("job", ("data", index, "stage"))
    if scratch_of(cluster, name) is None:
        yield Clash(
            "no-scratch",
            _(
                "data is to be copied to local disks, and the hosts of partition `{name}` have none "
                "that jobs know",
                name=name,
            ),
            _("give each of its groups a disk with the same `mount: /scratch`, or set `stage: none`"),
            (loc, In("cluster", ("partitions", name, "nodes"))),
        )
    elif not cluster.slurm.health:
        yield Clash(
            "no-scratch",
            _("data is to be copied to local disks, and the programs that give jobs a place there are off"),
            _("set slurm.health to true, or set `stage: none`"),
            (loc, In("cluster", ("slurm", "health"))),
        )


_OFFERED = In("cluster", ("environments", "containers"))
_IMAGE = In("job", ("container", "image"))


def container(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """One of the cluster's runtimes can start it, and its file is where every host sees it."""
    container_spec = job.container
    if container_spec is None:
        return
    if runtime(container_spec.image, cluster) is None:
        yield _not_offered(container_spec, cluster)
    shared = [folder.path for folder in cluster.storage.values()]
    if container_spec.image.startswith("/") and not any(
        is_within(container_spec.image, top) for top in shared
    ):
        yield Clash(
            "folder-not-shared",
            _(
                "image {image} is not on shared storage, so other hosts do not have it",
                image=container_spec.image,
            ),
            _("put it beneath {shared}", shared=" or ".join(shared) or "a folder of `storage:`"),
            (_IMAGE, In("cluster", ("storage",))),
        )


def _not_offered(container_spec: Container, cluster: Cluster) -> Clash:
    can, offered = " or ".join(starters(container_spec.image)), ", ".join(cluster.environments.containers)
    return Clash(
        "container-runtime",
        _(
            "image `{image}` is one for {can}, and the cluster offers {offered}",
            image=container_spec.image,
            can=can,
            offered=offered or "no containers",
        ),
        _(
            "add `containers: [{starters}]` to `environments:` of the cluster file, or take "
            "another image: a folder for oci, .sqsh for pyxis, .sif for apptainer",
            starters=starters(container_spec.image)[0],
        ),
        (_IMAGE, _OFFERED),
    )


_CAN = ("successor", "fail")


def container_host_loss(job: Job, cluster: Cluster) -> Iterator[Clash]:
    """Slurm can be asked from inside a bundle of `oci` alone; elsewhere nobody takes over from a lost supervisor."""
    policy = job.recovery.on_host_loss
    if job.container is None or policy in _CAN:
        return
    runtime_name = runtime(job.container.image, cluster)
    if runtime_name not in {"oci", None}:
        yield Clash(
            "container-host-loss",
            _(
                "on host loss the job does `{policy}`, and in an image that {runtime_name} starts "
                "there is no Slurm to do it with when the supervisor's own host is lost",
                policy=policy,
                runtime_name=runtime_name,
            ),
            _(
                "set `on_host_loss: successor`: a new job goes on from the newest checkpoint; or "
                "take an OCI bundle"
            ),
            (In("job", ("recovery", "on_host_loss")), In("job", ("container", "image"))),
        )
