"""Environment variables of pods: those of the batch script, and torchrun's rendezvous."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.command import grace_s
from clusterwright.launch.kubernetes.options import Object
from clusterwright.launch.run import runs_folder
from clusterwright.launch.variables import job_variables, object_storage

LEAVING_S = 5  # our choice: torchrun exits after its ranks, before the kubelet's SIGKILL
PORT = 29500  # torchrun's own default (torch/distributed/run.py)
# Names of network interfaces, adapters or address tables of hosts; those of pods differ (mostly eth0).
_OF_HOSTS = (
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "NCCL_IB_HCA",
    "NCCL_IB_GID_INDEX",
    "UCX_NET_DEVICES",
)


def variables(job: Job, cluster: Cluster, run: str) -> list[Object]:
    """Return the environment variables of a pod, without those that name devices of hosts (`left_out`).

    Those of the job override those of the cluster; `run` is the run's folder.
    """
    file_variables = {**object_storage(cluster), **cluster.jobs.variables, **job.environment.variables}
    environment = {
        "TORCH_CPP_LOG_LEVEL": "ERROR",
        # torchrun kills ranks that exit later than this; its default of 30 s is too short for a large checkpoint
        "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(grace_s(job) - LEAVING_S),
        **{name: text for name, text in file_variables.items() if name not in _OF_HOSTS},
        **job_variables(job),
        "CLUSTERWRIGHT_RUN": run,
        "CLUSTERWRIGHT_CHECKPOINTS": job.checkpoint.folder or f"{run}/checkpoints",
        "CLUSTERWRIGHT_CHECKPOINT_EVERY": _every(job),
        "CLUSTERWRIGHT_SAVE_TOTAL_LIMIT": str(job.checkpoint.save_total_limit),
        **({"CLUSTERWRIGHT_CHECKPOINT_BEST": job.checkpoint.best} if job.checkpoint.best else {}),
    }
    return [{"name": name, "value": text} for name, text in environment.items()]


def left_out(job: Job, cluster: Cluster) -> list[str]:
    """Return the names of variables in cluster and job file that are not valid in a pod."""
    return [name for name in {**cluster.jobs.variables, **job.environment.variables} if name in _OF_HOSTS]


def rendezvous(job: Job, name: str) -> list[Object]:
    """Return the variables of torchrun (PET_*); the rendezvous is at the host name of the JobSet's first pod."""
    index = {"fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
    settings = {
        "PET_NNODES": str(job.nodes),
        "PET_NPROC_PER_NODE": str(job.gpus_per_node),
        "PET_MASTER_ADDR": f"{name}-node-0-0.{name}",
        "PET_MASTER_PORT": str(PORT),
    }
    return [
        *({"name": key, "value": text} for key, text in settings.items()),
        {"name": "PET_NODE_RANK", "valueFrom": index},
    ]


def run_folder(cluster: Cluster, name: str) -> str:
    """Return the path of the run's folder, the same after each restart, so that the training resumes.

    Raises:
        WrightError: the cluster has no shared folder.
    """
    return f"{runs_folder(cluster)}/{name}"


def _every(job: Job) -> str:
    every = job.checkpoint.every
    return f"steps:{every.steps}" if every.steps else f"seconds:{every.seconds}"
