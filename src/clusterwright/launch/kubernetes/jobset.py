"""Render a training as a JobSet: a Job with one pod per host, which restarts as a whole."""

from __future__ import annotations

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.kubernetes.environment import rendezvous, run_folder, variables
from clusterwright.launch.kubernetes.names import LONGEST_JOB, label
from clusterwright.launch.kubernetes.options import QUEUE, ManifestOptions, Object, meta
from clusterwright.launch.kubernetes.pod import pod

# Failure reasons of a Job: a rule of its podFailurePolicy, or its activeDeadlineSeconds.
_HOST_LOST, _LATE = "PodFailurePolicy", "DeadlineExceeded"


def jobset(job: Job, cluster: Cluster, options: ManifestOptions, namespace: str) -> Object:
    """Return the job as a Kubernetes JobSet, suspended in the team's queue until all its pods can be scheduled.

    Raises:
        WrightError: this version of Kubernetes does not support it, or the job has no Kubernetes form.
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
    """Return the part of the spec that a JobSet and a TrainingRuntime share; `labels` go on the Job it starts."""
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
            "backoffLimit": 0,  # a failed rank breaks the process group of all others
            "activeDeadlineSeconds": job.time,
            # Distinguishes pods whose host was lost or drained from programs that failed.
            "podFailurePolicy": {"rules": [host_loss_rule]},
            "template": {"spec": pod_spec},
        },
    }


def _failures(job: Job) -> Object:
    """Return the failurePolicy for `recovery`: restarts of all pods, also after the time limit, or none."""
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
