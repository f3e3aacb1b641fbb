"""Load a Cluster or a Job from a file, or report all findings at once."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from clusterwright.config.clash import Clash, In
from clusterwright.config.field import Section
from clusterwright.config.other_files import CLUSTER_KEYS, JOB_KEYS
from clusterwright.config.reader import read
from clusterwright.config.rules import clashes
from clusterwright.config.source import Loc, Source, dotted
from clusterwright.errors import Finding, Location, SpecError, closest_name, unreadable_fix
from clusterwright.file_arguments import read_argument
from clusterwright.i18n import _, _n

if TYPE_CHECKING:  # each file's models are imported when one is read (start-up time)
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job
    from clusterwright.config.schema import Kind

SpecModel = TypeVar("SpecModel", bound=Section)

_ADDRESS = re.compile(r"([a-z]+):/{1,2}(\S+)")  # pathlib makes one slash of two
_PROGRAMS = ("command", "program", "recipe")  # of which a job has one
_MOST_ENTRIES = 1000  # of a folder, among which a file with a similar name is searched
_MOST_BYTES = 16 * 1024 * 1024  # a slurm.conf; the readers of cluster and job files accept less


def load_cluster(path: str | Path) -> Cluster:
    """Load a cluster file.

    Raises:
        SpecError: all findings about the file, each with its place and its fix.
    """
    return cluster_of(source_of(path))


def load_job(path: str | Path, cluster: Cluster | None = None) -> Job:
    """Load a job file; with `cluster`, also check that the cluster can run the job.

    Raises:
        SpecError: all findings about the file, each with its place and its fix.
    """
    return job_of(source_of(path), cluster)


def load_both(job: Path, cluster: Path) -> tuple[Job, Cluster]:
    """Load a job file and the file of its cluster; a finding about both shows its place in both files.

    Raises:
        SpecError: the findings about the cluster; if none, about the job and about both together.
    """
    sources = {"job": source_of(job), "cluster": source_of(cluster)}
    cluster_spec = cluster_of(sources["cluster"])
    require_kind(sources["job"], "job")
    from clusterwright.config.job import Job

    return _validate(Job, sources["job"], "job", cluster_spec, sources["cluster"]), cluster_spec


def source_of(path: str | Path, *, other_than: Path | None = None) -> Source:
    """Parse a file into its values and their places; `other_than`: a file that its error does not propose instead.

    Raises:
        SpecError: the file cannot be read.
    """
    return read(_spec_bytes(Path(path), other_than), str(path))


def require_readable(path: Path) -> None:
    """Check that a file can be read, without parsing it.

    Raises:
        SpecError: the file cannot be read.
    """
    _spec_bytes(path)


def _spec_bytes(path: Path, other_than: Path | None = None) -> bytes:
    if address := _ADDRESS.match(str(path)):
        url = f"{address[1]}://{address[2]}"
        fix = _("download the file first: {line}", line=f"curl -fsSO {shlex.quote(url)}")
        return _bytes_of(path, fix)
    fix = _(
        "pass the path of a file that exists; to start from: `wright init` writes a cluster file,"
        " `wright guide` a job file too"
    )
    return _bytes_of(path, _similar_file(path, other_than) or fix)


def _similar_file(path: Path, other_than: Path | None) -> str:
    """Return the fix for a path that does not exist: the YAML or JSON file of its folder with the closest name.

    Empty without such a file; schemas and `other_than` are not suggested.
    """
    if os.path.lexists(path) or not path.parent.is_dir():
        return ""
    with suppress(OSError):
        names = [entry.name for entry in islice(path.parent.iterdir(), _MOST_ENTRIES)]
        names = sorted(name for name in names if name.endswith((".yaml", ".yml", ".json")))
        names = [
            name for name in names if not name.endswith(".schema.json") and path.parent / name != other_than
        ]
        if closest := closest_name(path.name, names):
            return _("did you mean {file}?", file=shlex.quote(str(path.parent / closest)))
    return ""


def text_of(path: Path) -> str:
    """Return the text of a Slurm file; bytes that are not UTF-8 become U+FFFD.

    Raises:
        SpecError: the file cannot be read.
    """
    return _bytes_of(path, _("pass the path of a readable file")).decode(errors="replace")


def _bytes_of(path: Path, fix: str) -> bytes:
    try:
        return read_argument(path, _MOST_BYTES)
    except OSError as error:
        fix = _folder_fix(path) or unreadable_fix(error, path, fix)
        raise _unreadable(path, str(error.strerror), fix) from error


def _folder_fix(path: Path) -> str:
    """Return what a folder is, and the command that takes it; empty for what is none or cannot be read."""
    from clusterwright.config.file_kinds import kind_of_folder

    with suppress(OSError):
        kind = kind_of_folder(path, [entry.name for entry in islice(path.iterdir(), _MOST_ENTRIES)])
        return _("{file} is {kind}; {fix}", file=path, kind=kind.name, fix=kind.fix)
    return ""


def _unreadable(path: Path, reason: str, fix: str) -> SpecError:
    return SpecError(Finding("file-unreadable", f"{reason}: {path}", fix, (Location(str(path)),)))


def kind_of(source: Source) -> Kind:
    """Return whether a file is a cluster or a job file, by its keys.

    One with keys of neither or both is a cluster file.
    """
    values = source.values
    if has_cluster_keys(values):
        return "cluster"
    return "job" if _has_job_keys(values) or isinstance(values.get("time"), str) else "cluster"


def has_cluster_keys(values: Mapping[str, Any]) -> bool:
    """Return True for values that only a cluster file has."""
    return isinstance(values.get("nodes"), dict) or any(key in values for key in CLUSTER_KEYS)


def _has_job_keys(values: Mapping[str, Any]) -> bool:
    return any(key in values for key in JOB_KEYS)


def require_kind(source: Source, kind: Kind) -> None:
    """Refuse a job file where a cluster file is needed, and the reverse: its keys would all be unknown.

    Raises:
        SpecError: the file is of the other kind; a file with keys of both is checked like any other.
    """
    has_cluster = has_cluster_keys(source.values)
    if has_cluster in (_has_job_keys(source.values), kind == "cluster"):
        return
    file = source.file
    if kind == "cluster":
        message = _("{file} is a job file, but a cluster file is needed here", file=file)
        fix = _("name a cluster file in its place; to check the job: wright validate {file}", file=file)
    else:
        message = _("{file} is a cluster file, but a job file is needed here", file=file)
        fix = _("name a job file in its place, and this one with --cluster {file}", file=file)
    raise SpecError(Finding("wrong-type", message, fix, (Location(file),)))


def cluster_of(source: Source) -> Cluster:
    """Validate parsed YAML as a cluster.

    Raises:
        SpecError: all findings about it.
    """
    from clusterwright.config.cluster import Cluster

    require_kind(source, "cluster")
    return _validate(Cluster, source, "cluster")


def job_of(source: Source, cluster: Cluster | None = None) -> Job:
    """Validate parsed YAML as a job; with `cluster`, also check that the cluster can run it.

    Raises:
        SpecError: all findings about it.
    """
    from clusterwright.config.job import Job

    require_kind(source, "job")
    return _validate(Job, source, "job", cluster)


def check_job_against(
    job: Job, cluster: Cluster, sources: Mapping[str, Source] | None = None
) -> tuple[Finding, ...]:
    """Return findings about what the cluster cannot do for the job; with places in the files of `sources`."""
    return _to_findings(clashes("job_cluster", job, cluster), sources or {})


def _validate(
    model: type[SpecModel],
    source: Source,
    kind: Kind,
    cluster: Cluster | None = None,
    cluster_source: Source | None = None,
) -> SpecModel:
    if () in source.faulty:
        raise SpecError(*source.findings)
    all_findings, bad = list(source.findings), set(source.faulty)
    spec: SpecModel | None
    try:
        spec = model.model_validate(source.values)
    except ValidationError as error:
        from clusterwright.config.report import faulty, findings

        all_findings += findings(error, source, kind)
        invalid, intended = faulty(error, source, kind)
        bad |= invalid
        spec = _without_invalid(model, source.values, kind, bad, intended)
        bad |= {loc[:-1] for loc in invalid if loc[-1:] == ("hosts",)}  # all of a group is about its hosts
    if spec is not None:
        all_findings += _to_findings(
            _independent(clashes(kind, spec), kind, bad, source), {kind: source}, kind
        )
        if kind == "job" and cluster:
            against = clashes("job_cluster", spec, cluster)
            sources = {kind: source, **({"cluster": cluster_source} if cluster_source else {})}
            all_findings += _to_findings(_independent(against, kind, bad, source), sources)
    if all_findings or spec is None:
        raise SpecError(*_in_order(all_findings))
    return spec


def _independent(
    clash_items: Iterable[Clash], kind: Kind, bad: Collection[Loc], source: Source
) -> Iterator[Clash]:
    """Yield the clashes that stay true whatever the invalid values should be, such as that a field is set."""
    parts = {loc[:length] for loc in bad for length in range(len(loc) + 1)}
    for clash in clash_items:
        if (clash.is_presence and all(side in source.keys for side in clash.locs)) or not _touches(
            clash, kind, bad, parts
        ):
            yield clash


def _without_invalid(
    model: type[SpecModel],
    values: Mapping[str, Any],
    kind: Kind,
    bad: Collection[Loc],
    intended: Mapping[Loc, Loc],
) -> SpecModel | None:
    """Return the model with another value for each invalid one, so that the rules can check the rest too.

    That is the field's example if the field is required or a list, else its default. A misspelled key is the one
    that is intended. None if values remain invalid; `values` is not changed.
    """
    from clusterwright.config.schema import find_schema, schema_of

    values_copy, schema = _copy(values), schema_of(kind)
    for loc in sorted(bad, key=lambda loc: (len(loc), loc not in intended)):
        path = list(loc)
        while path and isinstance(path[-1], int):  # removing one item of a list would shift the others
            path.pop()
        section: Any = values_copy
        for part in path[:-1]:
            section = section.get(part) if isinstance(section, dict) else None
        if not path or not isinstance(section, dict):
            continue
        name, meant = path[-1], intended.get(loc, loc)[-1]
        value = section.pop(name, None)
        examples = find_schema(schema, values, tuple(path)).get("examples")
        is_required = name in find_schema(schema, values, tuple(path[:-1])).get("required", ())
        if meant != name and loc in intended:
            section.setdefault(meant, value)
        elif loc in intended.values() and value is not None:
            section[name] = value
        elif is_required and kind == "cluster" and examples and isinstance(examples[0], tuple):
            return None  # names of other sections: those of an example would be unknown
        elif examples and (is_required or isinstance(value, tuple) or name in _PROGRAMS):
            section[name] = examples[0]
    try:
        return model.model_validate(values_copy)
    except ValidationError:
        return None


def _copy(value: Any) -> Any:
    return {key: _copy(inner) for key, inner in value.items()} if isinstance(value, Mapping) else value


def _touches(clash: Clash, kind: Kind, bad: Collection[Loc], parts: Collection[Loc]) -> bool:
    """Return True if a side of the clash in this file is, contains or is inside an invalid value (`bad`).

    `parts` are the paths that contain one.
    """
    files = [side if isinstance(side, In) else In(kind, side) for side in clash.locs]
    sides = [*clash.needs, *(side.loc for side in files if side.file == kind)]
    return any(
        side in parts or any(side[:length] in bad for length in range(len(side) + 1)) for side in sides
    )


def _in_order(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(
        findings,
        key=lambda finding: (
            (finding.places[0].line or 0, finding.places[0].column or 0) if finding.places else (0, 0)
        ),
    )


def _to_findings(
    clash_items: Iterable[Clash], sources: Mapping[str, Source], kind: Kind = "job"
) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            clash.code,
            clash.message,
            clash.fix,
            tuple(_locate(side, sources, kind, hidden=clash.hidden) for side in clash.locs),
        )
        for clash in clash_items
    )


def _locate(side: Loc | In, sources: Mapping[str, Source], kind: Kind, *, hidden: bool) -> Location:
    file, loc = (side.file, side.loc) if isinstance(side, In) else (kind, side)
    names = {"cluster": _("cluster file"), "job": _("job file")}
    location = sources[file].location(loc) if file in sources else Location(names[file], path=dotted(loc))
    return replace(location, value="", source="") if hidden else location


def validate(path: str | Path, cluster: str | Path | None = None) -> tuple[Finding, ...]:
    """Validate a cluster or job file, a job file also against its cluster file; return all findings, none if valid.

    A file that cannot be read is a finding, too.
    """
    try:
        checked(Path(path), Path(cluster) if cluster else None)
    except SpecError as error:
        return error.findings
    return ()


def checked(path: Path, cluster: Path | None = None) -> tuple[str, Cluster | None]:
    """Validate a cluster or job file; return a summary of one line, and the cluster of a cluster file, else None.

    With `cluster`, also whether that cluster can run the job.

    Raises:
        SpecError: all findings about it, or about the cluster file that the job is for.
    """
    source = source_of(path)
    if cluster:
        require_kind(source_of(cluster), "cluster")
    if kind_of(source) == "cluster":
        cluster_spec = cluster_of(source)
        hosts = _n("{count} host", "{count} hosts", len(cluster_spec.hosts()))
        groups = _n("{count} node group", "{count} node groups", len(cluster_spec.nodes))
        summary = _(
            "{path} is a valid cluster file: `{name}`, {hosts}, {groups}, partitions {partitions}",
            path=path,
            name=cluster_spec.name,
            hosts=hosts,
            groups=groups,
            partitions=", ".join(cluster_spec.partitions),
        )
        return summary, cluster_spec
    job = load_both(path, cluster)[0] if cluster else job_of(source)
    values = {"path": path, "name": job.name, "nodes": job.nodes, "gpus": job.gpus_per_node}
    if not cluster:
        return _("{path} is a valid job file: `{name}`, hosts x GPUs: {nodes} x {gpus}", **values), None
    summary = _(
        "{path} is a valid job file: `{name}`, hosts x GPUs: {nodes} x {gpus}, and {cluster} can run it",
        cluster=cluster,
        **values,
    )
    return summary, None
