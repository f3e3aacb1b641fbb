"""All files for one cluster and its jobs: text by path."""

from __future__ import annotations

from io import StringIO

from ruamel.yaml import YAML

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.load import check_job_against
from clusterwright.errors import SpecError
from clusterwright.launch.kubernetes import notes, readme
from clusterwright.launch.kubernetes.asked import Asked, Object
from clusterwright.launch.kubernetes.jobset import jobset
from clusterwright.launch.kubernetes.names import LONGEST_JOB, label, labels
from clusterwright.launch.kubernetes.queues import flavors, queues
from clusterwright.launch.kubernetes.teams import namespaces, objects, team_of
from clusterwright.launch.kubernetes.trainjob import trainjob
from clusterwright.launch.kubernetes.volumes import persistent

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
    return {"README.md": readme.readme(cluster, asked, tuple(told), left), **told}, left


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
