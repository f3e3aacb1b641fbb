"""What of the two files Kubernetes is not told, and why: nothing is left out in silence."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.catalog.kubernetes import NEWEST
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.command import grace_s
from clusterwright.launch.kubernetes.environment import left_out
from clusterwright.launch.kubernetes.options import ManifestOptions
from clusterwright.launch.kubernetes.shares import has_rdma
from clusterwright.launch.kubernetes.teams import team_of
from clusterwright.onhost.adapters import registry
from clusterwright.units import format_duration

_TORCHRUN_S = 30  # torch.distributed.elastic.agent.server.api: shutdown_timeout, where nothing is said
_OF_PARTITIONS = ("headroom_percent", "max_nodes", "priority", "teams", "exclusive", "qos")
_HOST_LOSS_NOTES = {"spare": "no host is held ready", "shrink": "it never goes on with fewer hosts"}


def of_cluster(cluster: Cluster, options: ManifestOptions) -> Iterator[str]:
    """Of the cluster file."""
    if options.version > NEWEST:
        newest = ".".join(map(str, NEWEST))
        yield f"Kubernetes is newer than {newest}, the newest that these manifests were held against"
    yield from _of_slurm(cluster)
    yield from _of_teams(cluster)
    yield from _of_folders(cluster)


def _of_slurm(cluster: Cluster) -> Iterator[str]:
    if cluster.qos:
        yield "qos: Kueue has no such limits and preemption by name; a WorkloadPriorityClass orders jobs of one queue"
    if cluster.reservations:
        yield "reservations: there are none in Kubernetes; taint the hosts for that time (kubectl taint)"
    for name, partition in cluster.partitions.items():
        fields = [field for field in _OF_PARTITIONS if getattr(partition, field)]
        if fields:
            yield f"partitions.{name}: {', '.join(fields)}: Slurm's; the queues know hosts and shares alone"


def _of_teams(cluster: Cluster) -> Iterator[str]:
    several = sum(group.gpus is not None for group in cluster.nodes.values()) > 1
    for name, team in cluster.teams.items():
        if several and team.max_gpus is not None:
            yield f"teams.{name}: max_gpus holds for each group of hosts, as Kueue limits a queue by flavor"
        if team.max_gpus_per_user is not None or team.max_jobs is not None:
            yield f"teams.{name}: max_gpus_per_user and max_jobs; Kueue counts by queue, not by person or job"
        if any(child.parent == name for child in cluster.teams.values()):
            yield f"teams.{name}: its share is divided among the teams in it; what it runs itself is borrowed"


def _of_folders(cluster: Cluster) -> Iterator[str]:
    for name, folder in cluster.storage.items():
        if folder.kind != "nfs":
            yield f"storage.{name}: taken from the host's own {folder.path}; the hosts must have it mounted"
    if any(disk.mount for group in cluster.nodes.values() for disk in group.disks):
        yield "disks: local scratch is not offered to pods; add a hostPath or a local volume where a job needs it"


def of_job(job: Job, cluster: Cluster) -> Iterator[str]:
    """Of a job file."""
    yield from _of_recovery(job)
    yield from _of_environment(job, cluster)
    yield from _of_people(job, cluster)


def _of_recovery(job: Job) -> Iterator[str]:
    on_host_loss = job.recovery.on_host_loss
    if on_host_loss in _HOST_LOSS_NOTES:
        yield (
            f"recovery.on_host_loss: {on_host_loss}: {_HOST_LOSS_NOTES[on_host_loss]}; "
            "all pods start anew, on any hosts with room"
        )
    if job.elastic:
        yield "elastic: the number of pods is fixed"
    if registry.launcher(job.launcher).is_agent:
        yield (
            "launcher: agent: it asks Slurm; torchrun starts the ranks, each time cold, and nobody looks for ranks"
            " that hang (recovery.hang) or hosts that are silent (recovery.heartbeat_timeout, warm)"
        )
    if not registry.launcher(job.launcher).is_supervised:
        yield f"launcher: {job.launcher}: pods have no Slurm; torchrun starts the ranks"
    if not registry.adapter(job.framework).needs_only_torch:
        yield f"framework: {job.framework}: what its adapter sets is left out; say it on the line or in the variables"
    if job.code or job.array or job.sweep or job.dependencies:
        yield "code, array, sweep, dependencies: Slurm's; the code has to be in the image or on shared storage"
    if job.checkpoint.memory != "never":
        yield "checkpoint.memory: no copies in the memory of other hosts; a restart reads the last one on storage"
    yield f"time: {format_duration(job.time)} are counted from each start anew"
    if grace_s(job) > _TORCHRUN_S:
        yield (
            f"grace: {grace_s(job)} s to save; torchrun of a torch that does not read TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
            f" kills the ranks after {_TORCHRUN_S} s of it"
        )


def _of_environment(job: Job, cluster: Cluster) -> Iterator[str]:
    if names := left_out(job, cluster):
        yield f"variables {', '.join(names)}: they name what hosts have; a pod has interfaces of its own"
    if job.environment.modules:
        yield "environment.modules: an image has none; put what they load into it"
    if job.container and job.container.mounts:
        yield "container.mounts: folders of hosts are not seen; shared folders are"
    if job.recipe:
        yield f"recipe: {job.recipe}: the image must have clusterwright (pip install clusterwright)"
    for data in job.data:
        if data.stage != "none":
            yield f"data: {data.path} is read where it is, not copied to a local disk first"


def _of_people(job: Job, cluster: Cluster) -> Iterator[str]:
    if job.user not in cluster.users:
        yield "user: none is named; the pods run as the image's user, who must be able to write the shared folders"
        if job.team is None and len(cluster.teams) > 1:
            yield f"team: none is named; it counts against `{team_of(job, cluster)}`"
    elif has_rdma(cluster) and job.nodes > 1:
        yield (
            "limits: IPC_LOCK is root's; for another user the container runtime must set memlock to unlimited"
            " (LimitMEMLOCK=infinity of containerd), as /etc/security/limits.d does on hosts"
        )
