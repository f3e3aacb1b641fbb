"""A training as a JobSet: a Job of one pod a host, that starts anew as a whole."""

from __future__ import annotations

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.kubernetes.environment import rendezvous, run_folder, variables
from clusterwright.launch.kubernetes.names import LONGEST_JOB, label
from clusterwright.launch.kubernetes.options import QUEUE, ManifestOptions, Object, meta
from clusterwright.launch.kubernetes.pod import pod

# The Job's own reasons: a rule of its podFailurePolicy has ended it, or its activeDeadlineSeconds.
_HOST_LOST, _LATE = "PodFailurePolicy", "DeadlineExceeded"


def jobset(job: Job, cluster: Cluster, options: ManifestOptions, namespace: str) -> Object:
    """The whole object; it waits in the team's queue until all of its pods have room.

    Raises:
        WrightError: this Kubernetes cannot have it, or the job cannot be told to it.
    """
    name = label(job.name, LONGEST_JOB)
    environment = [*variables(job, cluster, run_folder(cluster, name)), *rendezvous(job, name)]
    return {
        "apiVersion": require("JobSet", options.version).api,
        "kind": "JobSet",
        "metadata": meta(name, namespace, **{"kueue.x-k8s.io/queue-name": QUEUE}),
        "spec": {"suspend": True, **spec(job, pod(job, cluster, options, name, environment))},
    }


def spec(job: Job, pod_spec: Object, **labels: str) -> Object:
    """What of a JobSet a TrainJob's runtime has, too."""
    return {
        "network": {"enableDNSHostnames": True},
        "failurePolicy": _failures(job),
        "replicatedJobs": [{"name": "node", "template": _job(job, pod_spec, labels)}],
    }


def _job(job: Job, pod_spec: Object, labels: dict[str, str]) -> Object:
    completion = {"parallelism": job.nodes, "completions": job.nodes, "completionMode": "Indexed"}
    host_loss_rule = {
        "action": "FailJob",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    }
    return {
        **({"metadata": {"labels": labels}} if labels else {}),
        "spec": {
            **completion,
            "backoffLimit": 0,  # one rank that fails leaves the others without a group
            "activeDeadlineSeconds": job.time,
            # A pod that its host was lost or emptied under is told apart from a program that failed.
            "podFailurePolicy": {"rules": [host_loss_rule]},
            "template": {"spec": pod_spec},
        },
    }


def _failures(job: Job) -> Object:
    """`recovery` in JobSet's words: all pods start anew, so often, also after their time; or none does."""
    recovery = job.recovery
    survives_host_loss = recovery.on_host_loss != "fail"
    ends = [
        *([] if survives_host_loss else [_HOST_LOST]),
        *([] if survives_host_loss and recovery.successors else [_LATE]),
    ]
    rule = {"name": "ends", "action": "FailJobSet", "onJobFailureReasons": ends}
    return {
        "maxRestarts": recovery.restarts + (recovery.successors if survives_host_loss else 0),
        **({"rules": [rule]} if ends else {}),
    }
