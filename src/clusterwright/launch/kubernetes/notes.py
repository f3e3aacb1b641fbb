"""List every setting of the two files that the Kubernetes manifests do not have, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.catalog.kubernetes import NEWEST
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.i18n import _
from clusterwright.launch.command import grace_s
from clusterwright.launch.kubernetes.environment import left_out
from clusterwright.launch.kubernetes.options import ManifestOptions
from clusterwright.launch.kubernetes.shares import has_rdma
from clusterwright.launch.kubernetes.teams import team_of
from clusterwright.onhost.adapters import registry
from clusterwright.units import format_duration

_TORCHRUN_S = 30  # torch.distributed.elastic.agent.server.api: default of shutdown_timeout
_OF_PARTITIONS = ("headroom_percent", "max_nodes", "priority", "teams", "exclusive", "qos")


def of_cluster(cluster: Cluster, options: ManifestOptions) -> Iterator[str]:
    """Yield a note for each setting of the cluster file that the manifests do not have."""
    if options.version > NEWEST:
        newest = ".".join(map(str, NEWEST))
        yield _(
            "Kubernetes is newer than {version}, the newest that these manifests were checked with",
            version=newest,
        )
    yield from _of_slurm(cluster)
    yield from _of_teams(cluster)
    yield from _of_folders(cluster)


def _of_slurm(cluster: Cluster) -> Iterator[str]:
    if cluster.qos:
        yield _(
            "qos: Kueue has no such limits and preemption; a WorkloadPriorityClass orders jobs of one queue"
        )
    if cluster.reservations:
        yield _("reservations: Kubernetes has none; taint the hosts for that time (kubectl taint)")
    for name, partition in cluster.partitions.items():
        fields = [field for field in _OF_PARTITIONS if getattr(partition, field)]
        if fields:
            names = ", ".join(fields)
            yield _(
                "partitions.{name}: {fields}: Slurm only; the queues have hosts and shares",
                name=name,
                fields=names,
            )


def _of_teams(cluster: Cluster) -> Iterator[str]:
    several = sum(group.gpus is not None for group in cluster.nodes.values()) > 1
    for name, team in cluster.teams.items():
        if several and team.max_gpus is not None:
            yield _(
                "teams.{name}: max_gpus applies to each node group, as Kueue limits a queue by flavor",
                name=name,
            )
        if team.max_gpus_per_user is not None or team.max_jobs is not None:
            yield _(
                "teams.{name}: max_gpus_per_user, max_jobs: Kueue limits queues, not users or jobs", name=name
            )
        if any(child.parent == name for child in cluster.teams.values()):
            yield _(
                "teams.{name}: its share is divided among its child teams; its own jobs borrow", name=name
            )


def _of_folders(cluster: Cluster) -> Iterator[str]:
    for name, folder in cluster.storage.items():
        if folder.kind != "nfs":
            yield _(
                "storage.{name}: a hostPath, so {path} must be mounted on the hosts",
                name=name,
                path=folder.path,
            )
    if any(disk.mount for group in cluster.nodes.values() for disk in group.disks):
        yield _("disks: pods have no local scratch; add a hostPath or a local volume for jobs that need it")


def of_job(job: Job, cluster: Cluster) -> Iterator[str]:
    """Yield a note for each setting of the job file that the manifests do not have."""
    yield from _of_recovery(job)
    yield from _of_checkpoints(job)
    yield from _of_environment(job, cluster)
    yield from _of_people(job, cluster)


def _of_recovery(job: Job) -> Iterator[str]:
    if job.recovery.on_host_loss == "spare":
        yield _(
            "recovery.on_host_loss: spare: there is no standby host; all pods restart, on any available hosts"
        )
    if job.recovery.on_host_loss == "shrink":
        yield _(
            "recovery.on_host_loss: shrink: the job never shrinks; all pods restart, on any available hosts"
        )
    if job.elastic:
        yield _("elastic: the number of pods is fixed")
    if registry.launcher(job.launcher).is_agent:
        yield _(
            "launcher: agent: it needs Slurm; torchrun starts the ranks, without warm start (warm), hang detection "
            "(recovery.hang) and heartbeats of hosts (recovery.heartbeat_timeout)"
        )
    if not registry.launcher(job.launcher).is_supervised:
        yield _("launcher: {launcher}: pods have no Slurm; torchrun starts the ranks", launcher=job.launcher)
    if not registry.adapter(job.framework).needs_only_torch:
        yield _(
            "framework: {framework}: its adapter is not used; set its options in the command or the variables",
            framework=job.framework,
        )
    if job.code or job.array or job.sweep or job.dependencies:
        yield _(
            "code, array, sweep, dependencies: Slurm only; put the code into the image or on shared storage"
        )
    yield _("time: {time}, counted from each restart", time=format_duration(job.time))
    if grace_s(job) > _TORCHRUN_S:
        yield _(
            "grace: {grace} s to save; torchrun without support of TORCH_ELASTIC_SHUTDOWN_TIMEOUT kills the "
            "ranks after {limit} s",
            grace=grace_s(job),
            limit=_TORCHRUN_S,
        )


def _of_checkpoints(job: Job) -> Iterator[str]:
    if job.checkpoint.memory != "never":
        yield _("checkpoint.memory: no in-memory checkpoints; a restart reads the last checkpoint on storage")
    if job.checkpoint.upload_to:
        yield _("checkpoint.upload_to: no uploads; mount the bucket as a volume, or upload in the program")


def _of_environment(job: Job, cluster: Cluster) -> Iterator[str]:
    if names := left_out(job, cluster):
        yield _("the variables {names} name devices of hosts, which pods do not have", names=", ".join(names))
    if job.environment.modules:
        yield _("environment.modules: install into the image what the modules load")
    if job.container and job.container.mounts:
        yield _(
            "container.mounts: pods mount only the cluster's shared folders; "
            "mounts of other folders of the hosts are left out"
        )
    if job.recipe:
        yield _(
            "recipe: {recipe}: the image must have clusterwright (pip install clusterwright)",
            recipe=job.recipe,
        )
    for data in job.data:
        if data.stage != "none":
            yield _("data: {path} is read from shared storage, not copied to local disks", path=data.path)


def _of_people(job: Job, cluster: Cluster) -> Iterator[str]:
    if "share" in job.model_fields_set:
        yield _("share: Slurm only; the permissions of the volumes decide who reads the run")
    if job.user not in cluster.users:
        yield _(
            "user: not set; the pods run as the image's user, who needs write access to the shared folders"
        )
        if job.team is None and len(cluster.teams) > 1:
            yield _("team: not set; the job is charged to `{team}`", team=team_of(job, cluster))
    elif has_rdma(cluster) and job.nodes > 1:
        yield _(
            "limits: only root has IPC_LOCK; for another user the container runtime must set memlock to unlimited "
            "(LimitMEMLOCK=infinity of containerd), as /etc/security/limits.d does on hosts"
        )
