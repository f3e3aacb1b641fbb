"""From a file's text to a Cluster or a Job, or to every finding at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from clusterwright.config.clash import Clash, In
from clusterwright.config.field import Section
from clusterwright.config.reader import read
from clusterwright.config.rules import clashes
from clusterwright.config.schema import Kind
from clusterwright.config.source import Loc, Source, dotted
from clusterwright.errors import Finding, Place, SpecError

if TYPE_CHECKING:  # each file's models are imported when one is read (start-up time)
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job

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


def load_both(job: Path, cluster: Path) -> tuple[Job, Cluster]:
    """The job and the cluster it is for; a finding about both shows its place in both files.

    Raises:
        SpecError: everything that is wrong with the cluster, else with the job, else with the two together.
    """
    sources = {"job": source_of(job), "cluster": source_of(cluster)}
    whole, made = cluster_of(sources["cluster"]), job_of(sources["job"])
    if found := check_job_against(made, whole, sources):
        raise SpecError(*found)
    return made, whole


def source_of(path: Path) -> Source:
    """The file's values and their places.

    Raises:
        SpecError: the file cannot be read.
    """
    mend = "give the path of a file that you may read; `wright init` writes one to start from"
    return read(_bytes_of(path, mend), str(path))


def text_of(path: Path) -> str:
    """The text of a file of Slurm's; bytes that are no text stand as signs of their own.

    Raises:
        SpecError: the file cannot be read.
    """
    return _bytes_of(path, "give the path of a file that you may read").decode(errors="replace")


def _bytes_of(path: Path, mend: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as why:
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
    from clusterwright.config.cluster import Cluster

    return _whole(Cluster, source, "cluster")


def job_of(source: Source, cluster: Cluster | None = None) -> Job:
    """The job of a text that was read, held against the cluster, if given.

    Raises:
        SpecError: everything that is wrong with it.
    """
    from clusterwright.config.job import Job

    job = _whole(Job, source, "job")
    found = check_job_against(job, cluster, {"job": source}) if cluster else ()
    if found:
        raise SpecError(*found)
    return job


def check_job_against(
    job: Job, cluster: Cluster, sources: Mapping[str, Source] | None = None
) -> tuple[Finding, ...]:
    """What of the job this cluster cannot do; places are known in the files whose sources are given."""
    return _placed(clashes("both", job, cluster), sources or {})


def _whole(model: type[Whole], source: Source, kind: Kind) -> Whole:
    if () in source.faulty:
        raise SpecError(*source.findings)
    found, bad = list(source.findings), set(source.faulty)
    whole: Whole | None
    try:
        whole = model.model_validate(source.values)
    except ValidationError as why:
        from clusterwright.config.report import faulty, findings

        found += findings(why, source, kind)
        bad |= faulty(why, source)
        misspelt = any(one.code == "unknown-key" for one in found)  # a value is not where it was meant to be
        whole = None if misspelt or kind == "job" else _rest(model, source.values, bad)
    if whole is not None:
        agreed = [clash for clash in clashes(kind, whole) if not _touches(clash, bad)]
        found += _placed(agreed, {kind: source}, kind)
    if found or whole is None:
        raise SpecError(*_in_order(found))
    return whole


def _rest(model: type[Whole], values: Mapping[str, Any], bad: Collection[Loc]) -> Whole | None:
    """The file with the default of each value that is wrong, so that the rules speak of the rest too."""
    rest = _copy(values)
    for loc in bad:
        place: Any = rest
        path = list(loc)
        while path and isinstance(path[-1], int):  # the other items of a list would change their places
            path.pop()
        for part in path[:-1]:
            place = place.get(part) if isinstance(place, dict) else None
        if path and isinstance(place, dict):
            place.pop(path[-1], None)
    try:
        return model.model_validate(rest)
    except ValidationError:
        return None


def _copy(value: Any) -> Any:
    return {key: _copy(inner) for key, inner in value.items()} if isinstance(value, Mapping) else value


def _touches(clash: Clash, bad: Collection[Loc]) -> bool:
    """True when a side of it is, holds, or lies in, a value that is wrong anyway."""
    sides = [side.loc if isinstance(side, In) else side for side in clash.at]
    return any(side[: len(loc)] == loc[: len(side)] for side in sides for loc in bad)


def _in_order(found: Iterable[Finding]) -> list[Finding]:
    return sorted(
        found, key=lambda one: (one.places[0].line or 0, one.places[0].column or 0) if one.places else (0, 0)
    )


def _placed(found: Iterable[Clash], sources: Mapping[str, Source], kind: Kind = "job") -> tuple[Finding, ...]:
    return tuple(
        Finding(
            clash.code,
            clash.message,
            clash.mend,
            tuple(_place(side, sources, kind, hidden=clash.hidden) for side in clash.at),
        )
        for clash in found
    )


def _place(side: Loc | In, sources: Mapping[str, Source], kind: Kind, *, hidden: bool) -> Place:
    file, loc = (side.file, side.loc) if isinstance(side, In) else (kind, side)
    place = sources[file].place(loc) if file in sources else Place(f"{file} file", path=dotted(loc))
    return replace(place, shown="", source="") if hidden else place


def checked(path: Path, cluster: Path | None = None) -> str:
    """The good news about a cluster or a job file, in one line.

    Raises:
        SpecError: everything that is wrong with it, or with the cluster file it is held against.
    """
    source = source_of(path)
    if kind_of(source) == "cluster":
        found = cluster_of(source)
        partitions = ", ".join(found.partitions)
        counts = f"{len(found.hosts())} hosts in {len(found.nodes)} node groups, partitions {partitions}"
        return f"{path} is a good cluster file: `{found.name}`, {counts}"
    job = load_both(path, cluster)[0] if cluster else job_of(source)
    on = f", and fits {cluster}" if cluster else ""
    return f"{path} is a good job file: `{job.name}`, {job.nodes} x {job.gpus_per_node} GPUs{on}"
