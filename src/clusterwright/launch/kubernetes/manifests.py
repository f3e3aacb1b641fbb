"""All files for one cluster and its jobs: text by path."""

from __future__ import annotations

from io import StringIO

from ruamel.yaml import YAML

from clusterwright.catalog.kubernetes import kinds, require
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.load import check_job_against
from clusterwright.config.names import fold
from clusterwright.errors import SpecError
from clusterwright.launch.kubernetes import notes
from clusterwright.launch.kubernetes.asked import GROUP, QUEUE, SWITCH, Asked, Object, meta
from clusterwright.launch.kubernetes.environment import run_folder, variables
from clusterwright.launch.kubernetes.jobset import jobset, spec
from clusterwright.launch.kubernetes.names import LONGEST_JOB, label, labels
from clusterwright.launch.kubernetes.pod import pod
from clusterwright.launch.kubernetes.queues import flavors, queues
from clusterwright.launch.kubernetes.shares import KEPT_PERCENT, devices, has_rdma
from clusterwright.launch.kubernetes.teams import namespaces, objects, team_of
from clusterwright.launch.kubernetes.volumes import persistent


def readme(cluster: Cluster, asked: Asked, paths: tuple[str, ...], left: list[str]) -> str:
    """In Markdown."""
    return "\n".join(
        [
            f"# {cluster.name} for Kubernetes {'.'.join(map(str, asked.version))}",
            "",
            "Made by clusterwright. Nothing here was sent to a server.",
            "",
            "## What must be there",
            "",
            *_needed(cluster, asked),
            "",
            "## Labels of hosts",
            "",
            "```sh",
            *_labels(cluster),
            "```",
            "",
            "## In this order",
            "",
            "```sh",
            *(f"kubectl apply -f {path}" for path in paths),
            "```",
            "",
            "A job waits in its team's queue (`kubectl get workloads -A`) until all of its pods have room.",
            f"Pods ask for {KEPT_PERCENT} % less of processors and memory than a batch script: the kubelet keeps some.",
            "Secrets of a job go to `kubectl create secret generic NAME-secrets -n TEAM --from-literal=KEY=...`.",
            "",
            "## What is not carried over",
            "",
            *(f"- {each}" for each in left),
            "",
        ]
    )


def _needed(cluster: Cluster, asked: Asked) -> list[str]:
    wanted = ["ClusterQueue", "JobSet", *(["TrainJob"] if asked.kind == "trainjob" else [])]
    found = [
        f"- {kinds()[each].operator} {kinds()[each].releases}, for {kinds()[each].api}" for each in wanted
    ]
    found += [f"- a device plugin that offers {name}" for name in devices(cluster)]
    if has_rdma(cluster):
        found.append(f"- a device plugin that offers {asked.rdma} (`--rdma` if yours calls it otherwise)")
    return found


def _labels(cluster: Cluster) -> list[str]:
    found = []
    for name, group in cluster.nodes.items():
        if group.role == "compute":
            more = f" {SWITCH}={label(group.switch)}" if group.switch else ""
            found.append(f"# {fold(group.names())}")
            found.append(f"kubectl label node {' '.join(group.names())} {GROUP}={label(name)}{more}")
    return found


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


_WIDTH = 120


def manifests(cluster: Cluster, jobs: tuple[Job, ...], asked: Asked) -> tuple[dict[str, str], list[str]]:
    """Text by path, and what could not be told; the same files always give the same text.

    Raises:
        SpecError: a job does not fit the cluster.
        WrightError: this Kubernetes cannot have what is asked for, or a name or an image does not do.
    """
    if found := [each for job in jobs for each in check_job_against(job, cluster)]:
        raise SpecError(*found)
    labels(tuple(job.name for job in jobs))
    teams = namespaces(cluster)
    left = [
        *notes.of_cluster(cluster, asked),
        *(_of_job(job, each) for job in jobs for each in notes.of_job(job, cluster)),
    ]
    files = {
        "1-teams.yaml": objects(cluster, asked),
        "2-storage.yaml": [
            each for namespace in teams.values() for each in persistent(cluster, asked, namespace)
        ],
        "3-queues.yaml": [*flavors(cluster, asked), *queues(cluster, asked, teams)],
        **{f"jobs/{label(job.name, LONGEST_JOB)}.yaml": _training(job, cluster, asked) for job in jobs},
    }
    told = {path: text(each) for path, each in files.items() if each}
    return {"README.md": readme(cluster, asked, tuple(told), left), **told}, left


def _training(job: Job, cluster: Cluster, asked: Asked) -> list[Object]:
    namespace = namespaces(cluster)[team_of(job, cluster)]
    if asked.kind == "trainjob":
        return trainjob(job, cluster, asked, namespace)
    return [jobset(job, cluster, asked, namespace)]


def _of_job(job: Job, note: str) -> str:
    return f"job {job.name}: {note}"


def text(objects: list[Object]) -> str:
    """As YAML, one document each."""
    writer = YAML(typ="rt")
    writer.default_flow_style = False
    writer.width = _WIDTH
    writer.representer.ignore_aliases = lambda _data: True
    out = StringIO()
    writer.dump_all(objects, out)
    return f"# made by clusterwright; edit the cluster file or the job file in its place\n{out.getvalue()}"
