"""A training as a TrainJob of Kubeflow Trainer, and the runtime that it names: a JobSet with torchrun's policy."""

from __future__ import annotations

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.kubernetes.asked import QUEUE, Asked, Object, meta
from clusterwright.launch.kubernetes.environment import run_folder, variables
from clusterwright.launch.kubernetes.jobset import spec
from clusterwright.launch.kubernetes.names import LONGEST_JOB, label
from clusterwright.launch.kubernetes.pod import pod

# By which Trainer finds the Job and the container that the TrainJob's own words go into.
_STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


def trainjob(job: Job, cluster: Cluster, asked: Asked, namespace: str) -> list[Object]:
    """Runtime and job. PET_* are left to Trainer, which refuses a job that says them itself.

    Raises:
        WrightError: this Kubernetes cannot have them, or the job cannot be told to it.
    """
    name = label(job.name, LONGEST_JOB)
    told = variables(job, cluster, run_folder(cluster, name))
    body = spec(job, pod(job, cluster, asked, name, told), **_STEP)
    for each in body["replicatedJobs"]:
        for field in ("parallelism", "completions"):  # Trainer puts numNodes there
            del each["template"]["spec"][field]
    runtime = {
        "apiVersion": require("TrainingRuntime", asked.version).api,
        "kind": "TrainingRuntime",
        "metadata": meta(name, namespace, **{"trainer.kubeflow.org/framework": "torch"}),
        "spec": {
            # How many ranks a pod has is the TrainJob's word alone since v2.2.
            "mlPolicy": {"numNodes": job.nodes, "torch": {}},
            "template": {"spec": body},
        },
    }
    reference = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": name}
    train = {
        "apiVersion": require("TrainJob", asked.version).api,
        "kind": "TrainJob",
        "metadata": meta(name, namespace, **{"kueue.x-k8s.io/queue-name": QUEUE}),
        "spec": {
            "suspend": True, "runtimeRef": reference,
            "trainer": {"numNodes": job.nodes, "numProcPerNode": job.gpus_per_node},
        },
    }  # fmt: skip
    return [runtime, train]
