"""Render all manifests of a cluster and its jobs, as text by path."""

from __future__ import annotations

from io import StringIO

from ruamel.yaml import YAML

from clusterwright.catalog.kubernetes import kinds, require
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.load import check_job_against
from clusterwright.config.names import fold
from clusterwright.errors import SpecError
from clusterwright.i18n import _
from clusterwright.launch.kubernetes import notes
from clusterwright.launch.kubernetes.environment import run_folder, variables
from clusterwright.launch.kubernetes.jobset import jobset, spec
from clusterwright.launch.kubernetes.names import LONGEST_JOB, label, labels
from clusterwright.launch.kubernetes.options import GROUP, QUEUE, SWITCH, ManifestOptions, Object, meta
from clusterwright.launch.kubernetes.pod import pod
from clusterwright.launch.kubernetes.queues import flavors, queues
from clusterwright.launch.kubernetes.shares import RESERVED_PERCENT, devices, has_rdma
from clusterwright.launch.kubernetes.teams import namespaces, objects, team_of
from clusterwright.launch.kubernetes.volumes import persistent


def readme(cluster: Cluster, options: ManifestOptions, paths: tuple[str, ...], omissions: list[str]) -> str:
    """Return the README of the manifests in Markdown: requirements, labels of hosts, and the order to apply `paths`.

    `omissions` are notes on what the manifests leave out.
    """
    return "\n".join(
        [
            f"# {cluster.name} for Kubernetes {'.'.join(map(str, options.version))}",
            "",
            "Made by clusterwright. Nothing was sent to a server.",
            "",
            "## Requirements",
            "",
            *_needed(cluster, options),
            "",
            "## Labels of hosts",
            "",
            "```sh",
            *_labels(cluster),
            "```",
            "",
            "## Apply in this order",
            "",
            "```sh",
            *(f"kubectl apply -f {path}" for path in paths),
            "```",
            "",
            "A job waits in its team's queue (`kubectl get workloads -A`) until all its pods can be scheduled.",
            f"Pods request {RESERVED_PERCENT}% less CPU and memory than a batch script, which the kubelet reserves.",
            "Create secrets of a job with `kubectl create secret generic NAME-secrets -n TEAM --from-literal=KEY=...`.",
            "",
            "## Not converted",
            "",
            *(f"- {note}" for note in omissions),
            "",
        ]
    )


def _needed(cluster: Cluster, options: ManifestOptions) -> list[str]:
    kind_names = ["ClusterQueue", "JobSet", *(["TrainJob"] if options.kind == "trainjob" else [])]
    lines = [
        f"- {kinds()[kind].operator} {kinds()[kind].releases}, for {kinds()[kind].api}" for kind in kind_names
    ]
    lines += [f"- a device plugin with the resource {name}" for name in devices(cluster)]
    if has_rdma(cluster):
        lines.append(f"- a device plugin with the resource {options.rdma} (set `--rdma` for another name)")
    return lines


def _labels(cluster: Cluster) -> list[str]:
    lines = []
    for name, group in cluster.nodes.items():
        if group.role == "compute":
            more = f" {SWITCH}={label(group.switch)}" if group.switch else ""
            lines.append(f"# {fold(group.names())}")
            lines.append(f"kubectl label node {' '.join(group.names())} {GROUP}={label(name)}{more}")
    return lines


# The label by which Kubeflow Trainer finds the Job and container that the TrainJob configures.
_STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


def trainjob(job: Job, cluster: Cluster, options: ManifestOptions, namespace: str) -> list[Object]:
    """Return the objects TrainingRuntime and TrainJob of Kubeflow Trainer for the job.

    They lack PET_* variables, which Trainer sets and rejects in jobs.

    Raises:
        WrightError: this version of Kubernetes does not support them, or the job has no Kubernetes form.
    """
    name = label(job.name, LONGEST_JOB)
    environment = variables(job, cluster, run_folder(cluster, name))
    body = spec(job, pod(job, cluster, options, name, environment), **_STEP)
    for replicated_job in body["replicatedJobs"]:
        for field in ("parallelism", "completions"):  # Trainer sets them to numNodes
            del replicated_job["template"]["spec"][field]
    runtime = {
        "apiVersion": require("TrainingRuntime", options.version).api,
        "kind": "TrainingRuntime",
        "metadata": meta(name, namespace, **{"trainer.kubeflow.org/framework": "torch"}),
        "spec": {
            # Since v2.2 only the TrainJob sets the number of ranks per pod.
            "mlPolicy": {"numNodes": job.nodes, "torch": {}},
            "template": {"spec": body},
        },
    }
    reference = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": name}
    train = {
        "apiVersion": require("TrainJob", options.version).api,
        "kind": "TrainJob",
        "metadata": meta(name, namespace, **{"kueue.x-k8s.io/queue-name": QUEUE}),
        "spec": {
            "suspend": True, "runtimeRef": reference,
            "trainer": {"numNodes": job.nodes, "numProcPerNode": job.gpus_per_node},
        },
    }  # fmt: skip
    return [runtime, train]


_WIDTH = 120


def manifests(
    cluster: Cluster, jobs: tuple[Job, ...], options: ManifestOptions
) -> tuple[dict[str, str], list[str]]:
    """Return the Kubernetes manifests as text by path, and what was not converted.

    Raises:
        SpecError: the cluster cannot run a job.
        WrightError: this version of Kubernetes lacks a kind, or a name or image is not valid there.
    """
    if mistakes := [mistake for job in jobs for mistake in check_job_against(job, cluster)]:
        raise SpecError(*mistakes)
    labels(tuple(job.name for job in jobs))
    teams = namespaces(cluster)
    omissions = [
        *notes.of_cluster(cluster, options),
        *(_of_job(job, note) for job in jobs for note in notes.of_job(job, cluster)),
    ]
    files = {
        "1-teams.yaml": objects(cluster, options),
        "2-storage.yaml": [
            volume for namespace in teams.values() for volume in persistent(cluster, options, namespace)
        ],
        "3-queues.yaml": [*flavors(cluster, options), *queues(cluster, options, teams)],
        **{f"jobs/{label(job.name, LONGEST_JOB)}.yaml": _training(job, cluster, options) for job in jobs},
    }
    texts_by_path = {
        path: text(manifest_objects) for path, manifest_objects in files.items() if manifest_objects
    }
    return {
        "README.md": readme(cluster, options, tuple(texts_by_path), omissions),
        **texts_by_path,
    }, omissions


def _training(job: Job, cluster: Cluster, options: ManifestOptions) -> list[Object]:
    namespace = namespaces(cluster)[team_of(job, cluster)]
    if options.kind == "trainjob":
        return trainjob(job, cluster, options, namespace)
    return [jobset(job, cluster, options, namespace)]


def _of_job(job: Job, note: str) -> str:
    return _("job {job}: {note}", job=job.name, note=note)


def text(objects: list[Object]) -> str:
    """Return Kubernetes objects as the text of one YAML file, a document each, under a comment on its origin."""
    writer = YAML(typ="rt")
    writer.default_flow_style = False
    writer.width = _WIDTH
    writer.representer.ignore_aliases = lambda _data: True
    out = StringIO()
    writer.dump_all(objects, out)
    return f"# made by clusterwright; edit the cluster file or the job file instead\n{out.getvalue()}"
