"""The pod of one host of a training."""

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
    """Its spec: one container that starts a rank for each GPU, with what the job would have on a host.

    Raises:
        WrightError: the job names no image that a registry could have.
    """
    volumes, mounted = mounts(cluster)
    requests = resources(job, cluster, options.rdma)
    memory_mib = int(requests["memory"].removesuffix("Mi"))
    # Ranks and loaders share memory in /dev/shm; 64 MiB is what a container has, half of all what a host has.
    shm = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{memory_mib // 2}Mi"}}
    container = {
        "name": "node",
        "image": image(job, options),
        "command": start(job),
        "env": variables,
        # Of the team's namespace: what the files do not say, because others may read them.
        "envFrom": [{"secretRef": {"name": f"{name}-secrets", "optional": True}}],
        "resources": {"requests": requests, "limits": requests},
        "volumeMounts": [*mounted, {"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 (shared memory, no file)
        **({"workingDir": job.environment.workdir} if job.environment.workdir else {}),
        # Adapters write into memory that is pinned, without a limit.
        **({"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}} if _pins(job, cluster) else {}),
    }
    return {
        "restartPolicy": "Never",  # the whole set starts anew, as ranks cannot join a group that runs
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
    """What was asked for, else the job's own as registries write it.

    Raises:
        WrightError: there is none.
    """
    job_image = job.container.image if job.container else ""
    if options.image:
        return options.image
    if job_image and not job_image.startswith("/") and not job_image.endswith(_FILES):
        # enroot writes docker://HOST#IMAGE:TAG (import(1))
        return job_image.removeprefix("docker://").replace("#", "/")
    raise WrightError.from_code(
        "kubernetes-image",
        _(
            "job `{job}` names {value}, and a pod runs one of a registry",
            job=job.name,
            value=f"the file `{job_image}`" if job_image else "no image",
        ),
        "add --image registry.example.org/torch:2.8, or set container.image to an address",
        exit_code=EXIT_USAGE,
    )


def start(job: Job) -> list[str]:
    """Torchrun around the job's command; how many ranks there are and where they meet is in PET_*.

    Raises:
        WrightError: the command is code, which torchrun does not take.
    """
    arguments = list(of_python(job)) if job.program is None else ["--no-python", *job.program]
    if arguments[0] == "-c":
        arguments = ["--no-python", job.environment.python or "python3", *arguments]
    return [job.environment.python or "python3", "-m", "torch.distributed.run", *arguments]


def _pins(job: Job, cluster: Cluster) -> bool:
    return has_rdma(cluster) and job.nodes > 1


def _security_context(job: Job, cluster: Cluster) -> Object:
    """The job's user, whose files the shared folders have; the image's where the job names none."""
    user = cluster.users.get(job.user or "")
    if user is None:
        return {}
    teams = [cluster.teams[team].gid for team in (user.team, *user.additional_teams)]
    more = {"supplementalGroups": teams[1:]} if teams[1:] else {}
    return {"securityContext": {"runAsUser": user.uid, "runAsGroup": teams[0], **more}}


def _affinity(job: Job, cluster: Cluster, name: str) -> Object:
    """On hosts of the partition; one pod a host; near to each other, where that can be had."""
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
    """Hosts with GPUs are often kept for pods that ask for one, by a taint of the resource's name."""
    names = {
        device(gpus.model) for group_name in groups(job, cluster) if (gpus := cluster.nodes[group_name].gpus)
    }
    return {"tolerations": [{"key": key, "operator": "Exists"} for key in sorted(names)]} if names else {}
