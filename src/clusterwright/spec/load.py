"""From a file's text to a Cluster or a Job, or to every finding at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from clusterwright.errors import Finding, Place, SpecError
from clusterwright.spec.field import Section
from clusterwright.spec.reader import read
from clusterwright.spec.rules import Clash, In, clashes
from clusterwright.spec.schema import Kind
from clusterwright.spec.source import Source, dotted

if TYPE_CHECKING:  # each file's models are imported when one is read (start-up time)
    from clusterwright.spec.cluster import Cluster
    from clusterwright.spec.job import Job

Whole = TypeVar("Whole", bound=Section)

_OF_A_CLUSTER = ("networks", "partitions", "storage", "users", "teams", "lab")
_OF_A_JOB = ("command", "recipe", "gpus_per_node", "checkpoint", "recovery", "elastic", "container")


def load_cluster(path: Path) -> Cluster:
    """The cluster that the file describes.

    Raises:
        SpecError: everything that is wrong with the file, each with its place and its mend.
    """
    return cluster_of(source_of(path))


def load_job(path: Path, cluster: Cluster | None = None) -> Job:
    """The job that the file describes, held against the cluster it is for, if given.

    Raises:
        SpecError: everything that is wrong with the file, each with its place and its mend.
    """
    return job_of(source_of(path), cluster)


def source_of(path: Path) -> Source:
    """The file's values and their places.

    Raises:
        SpecError: the file cannot be read.
    """
    try:
        return read(path.read_bytes(), str(path))
    except OSError as why:
        mend = "give the path of a file that you may read; `wright init` writes one to start from"
        finding = Finding("file-unreadable", f"{why.strerror}: {path}", mend, (Place(str(path)),))
        raise SpecError(finding) from why


def kind_of(source: Source) -> Kind:
    """Whether it is a cluster or a job, told by its keys."""
    values = source.values
    if isinstance(values.get("nodes"), dict) or any(key in values for key in _OF_A_CLUSTER):
        return "cluster"
    return (
        "job" if any(key in values for key in _OF_A_JOB) or isinstance(values.get("time"), str) else "cluster"
    )


def cluster_of(source: Source) -> Cluster:
    """The cluster of a text that was read.

    Raises:
        SpecError: everything that is wrong with it.
    """
    from clusterwright.spec.cluster import Cluster  # noqa: PLC0415 (start-up time)

    return _whole(Cluster, source, "cluster")


def job_of(source: Source, cluster: Cluster | None = None) -> Job:
    """The job of a text that was read, held against the cluster, if given.

    Raises:
        SpecError: everything that is wrong with it.
    """
    from clusterwright.spec.job import Job  # noqa: PLC0415 (start-up time)

    job = _whole(Job, source, "job")
    found = check_job_against(job, cluster, source) if cluster else ()
    if found:
        raise SpecError(*found)
    return job


def check_job_against(job: Job, cluster: Cluster, source: Source | None = None) -> tuple[Finding, ...]:
    """What of the job this cluster cannot do; places are known where the job's source is given."""
    return _placed(clashes("both", job, cluster), source)


def _whole(model: type[Whole], source: Source, kind: Kind) -> Whole:
    from clusterwright.spec.report import findings  # noqa: PLC0415 (only for a file that is wrong)

    if () in source.faulty:
        raise SpecError(*source.findings)
    found = list(source.findings)
    try:
        whole = model.model_validate(source.values)
    except ValidationError as why:
        raise SpecError(*_in_order([*found, *findings(why, source, kind)])) from why
    found += _placed(clashes(kind, whole), source)
    if found:
        raise SpecError(*_in_order(found))
    return whole


def _in_order(found: Iterable[Finding]) -> list[Finding]:
    return sorted(
        found, key=lambda one: (one.places[0].line or 0, one.places[0].column or 0) if one.places else (0, 0)
    )


def _placed(found: Iterable[Clash], source: Source | None) -> tuple[Finding, ...]:
    return tuple(
        Finding(clash.code, clash.message, clash.mend, tuple(_place(side, source) for side in clash.at))
        for clash in found
    )


def _place(side: Any, source: Source | None) -> Place:
    loc = side.loc if isinstance(side, In) else side
    if source is None or (isinstance(side, In) and side.file == "cluster"):
        return Place(side.file if isinstance(side, In) else "job", path=dotted(loc))
    return source.place(loc)
