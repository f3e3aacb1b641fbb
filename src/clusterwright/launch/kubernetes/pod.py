"""Render the pod of a training; one per host."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.command import grace_s, of_python
from clusterwright.launch.kubernetes.names import label
from clusterwright.launch.kubernetes.options import ACCOUNT, GROUP, SWITCH, ManifestOptions, Object
from clusterwright.launch.kubernetes.shares import device, groups, has_rdma, resources
from clusterwright.launch.kubernetes.volumes import mounts

_FILES = (".sqsh", ".sif")


def pod(job: Job, cluster: Cluster, options: ManifestOptions, name: str, variables: list[Object]) -> Object:
    """Return the pod's spec: one container that starts a rank for each GPU.

    Raises:
        WrightError: the job has no image in a registry.
    """
    volumes, mounted = mounts(cluster)
    requests = resources(job, cluster, options.rdma)
    memory_mib = int(requests["memory"].removesuffix("Mi"))
    # Ranks and data loaders use /dev/shm: a container has 64 MiB by default, a host half of its memory.
    shm = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{memory_mib // 2}Mi"}}
    container = {
        "name": "node",
        "image": image(job, options),
        "command": start(job),
        "env": variables,
        # Secrets are in the team's namespace, not in the manifests, which others may read.
        "envFrom": [{"secretRef": {"name": f"{name}-secrets", "optional": True}}],
        "resources": {"requests": requests, "limits": requests},
        "volumeMounts": [*mounted, {"name": "shm", "mountPath": "/dev/shm"}],  # nosec B108 # noqa: S108 (shared memory, no file)
        **({"workingDir": job.environment.workdir} if job.environment.workdir else {}),
        # RDMA adapters need unlimited pinned memory.
        **({"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}} if _pins(job, cluster) else {}),
    }
    return {
        "restartPolicy": "Never",  # the whole JobSet restarts: ranks cannot join a running process group
        "terminationGracePeriodSeconds": grace_s(job),  # SIGTERM, this long to save, SIGKILL
        "serviceAccountName": ACCOUNT,
        "enableServiceLinks": False,
        **_security_context(job, cluster),
        "affinity": _affinity(job, cluster, name),
        **_tolerations(job, cluster),
        "containers": [container],
        "volumes": [*volumes, shm],
    }


def image(job: Job, options: ManifestOptions) -> str:
    """Return the image: `--image`, else the job's image as a registry address.

    Raises:
        WrightError: there is none.
    """
    job_image = job.container.image if job.container else ""
    if options.image:
        return options.image
    if job_image and not job_image.startswith("/") and not job_image.endswith(_FILES):
        # enroot's form is docker://HOST#IMAGE:TAG (import(1))
        return job_image.removeprefix("docker://").replace("#", "/")
    if job_image:
        message = _(
            "the image of job `{job}` is a file, {path}, but pods need a registry",
            job=job.name,
            path=job_image,
        )
    else:
        message = _("job `{job}` has no image", job=job.name)
    fix = _("add --image registry.example.org/torch:2.8, or set container.image to a registry address")
    raise WrightError.from_code("kubernetes-image", message, fix, exit_code=EXIT_USAGE)


def start(job: Job) -> list[str]:
    """Return the torchrun command line of the job; sizes and rendezvous are in PET_* variables."""
    arguments = list(of_python(job)) if job.program is None else ["--no-python", *job.program]
    if arguments[0] == "-c":
        arguments = ["--no-python", job.environment.python or "python3", *arguments]
    return [job.environment.python or "python3", "-m", "torch.distributed.run", *arguments]


def _pins(job: Job, cluster: Cluster) -> bool:
    return has_rdma(cluster) and job.nodes > 1


def _security_context(job: Job, cluster: Cluster) -> Object:
    """Return the securityContext: the job's user, who owns files in shared folders, with its teams as groups.

    Empty, so that the image's user runs it, if the cluster file has no such user or no uid.
    """
    user, groups = cluster.users.get(job.user or ""), cluster.unix_groups()
    if user is None or user.uid is None:
        return {}
    teams = [groups[team] for team in (user.team, *user.additional_teams) if team in groups]
    more = {"supplementalGroups": teams[1:]} if teams[1:] else {}
    return {"securityContext": {"runAsUser": user.uid, "runAsGroup": teams[0], **more}}


def _affinity(job: Job, cluster: Cluster, name: str) -> Object:
    """Return the pod's affinity: hosts of the job's partition, one of its pods per host, preferably on one switch."""
    ours = {"labelSelector": {"matchLabels": {"jobset.sigs.k8s.io/jobset-name": name}}}
    affinity: Object = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {
                                "key": GROUP,
                                "operator": "In",
                                "values": [label(group_name) for group_name in groups(job, cluster)],
                            }
                        ]
                    }
                ]
            }
        }
    }
    if job.nodes > 1:
        affinity["podAntiAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {**ours, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
        if any(group.switch for group in cluster.nodes.values()):
            same_switch = {"weight": 100, "podAffinityTerm": {**ours, "topologyKey": SWITCH}}
            affinity["podAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [same_switch]}
    return affinity


def _tolerations(job: Job, cluster: Cluster) -> Object:
    """Return tolerations of taints with the name of the GPU resource, which often reserve GPU hosts."""
    names = {
        device(gpus.model) for group_name in groups(job, cluster) if (gpus := cluster.nodes[group_name].gpus)
    }
    return {"tolerations": [{"key": key, "operator": "Exists"} for key in sorted(names)]} if names else {}
