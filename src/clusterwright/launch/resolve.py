"""Resolve the arguments of `wright train` to a job that is checked against its cluster."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.errors import EXIT_USAGE, Finding, Location, SpecError, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job
    from clusterwright.config.source import Source

DEFAULT_TIME_S = 12 * 3600
JOB_SUFFIXES = (".yaml", ".yml")
_OPTIONS = {
    "gpus_per_node": "--gpus",
    "dependencies": "--dependency",
}  # the others are named like their fields


@dataclass(frozen=True, slots=True)
class Overrides:
    """Fields that override those of the job file; `assignments` are `PATH=VALUE`."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    assignments: tuple[str, ...] = ()
    without_code: bool = False


@dataclass(frozen=True, slots=True)
class ResolvedJob:
    """A job, the cluster it is checked against, and the folder of its relative paths."""

    job: Job
    cluster: Cluster | None
    base_folder: Path


def resolve_job(
    arguments: Sequence[str], overrides: Overrides, cluster: Path | Cluster | None
) -> ResolvedJob:
    """Return the job of a job file or of a command line, checked against the cluster if there is one.

    The cluster is its file, or one learned from Slurm; `overrides` replace fields.

    Raises:
        WrightError: with everything that is wrong with the job.
    """
    file = Path(arguments[0])
    if file.suffix in JOB_SUFFIXES:
        if len(arguments) > 1:
            names = [text for text in overrides.assignments if "=" not in text]
            pairs = zip(names, arguments[1:], strict=False)
            settings = " ".join(shlex.join(("--set", f"{name}={value}")) for name, value in pairs)
            fix = (
                _("write {setting}", setting=settings)
                if settings
                else _("run one job file at a time: wright train {file}", file=shlex.quote(str(file)))
            )
            raise WrightError.from_code(
                "train-words",
                _("unexpected argument `{argument}` after {file}", argument=arguments[1], file=file),
                fix,
                exit_code=EXIT_USAGE,
            )
        return _resolve_file(file, overrides, cluster)
    return _resolve_program(arguments, overrides, loaded_cluster(cluster) if cluster else None)


def loaded_cluster(cluster: Path | Cluster) -> Cluster:
    """Return the cluster of a file, or the one that was learned from Slurm."""
    from clusterwright.config.load import load_cluster

    return load_cluster(cluster) if isinstance(cluster, Path) else cluster


def _resolve_program(arguments: Sequence[str], overrides: Overrides, cluster: Cluster | None) -> ResolvedJob:
    from clusterwright.launch.command_line import fields
    from clusterwright.launch.lines.sizes import named_size

    values = {
        "time": f"{_default_time_s(cluster, overrides.fields.get('partition'))}s",
        "code": {"folder": "."},
        **fields(arguments, os.environ),
        **named_size(arguments, overrides.fields.get("nodes")),
        **overrides.fields,
    }
    if overrides.without_code:
        values = {
            **values,
            "code": None,
            "environment": {**values.get("environment", {}), "workdir": str(Path.cwd())},
        }
    job = _parse_job(_assign(values, overrides.assignments), cluster, overrides)
    return ResolvedJob(job, cluster, Path())


def _resolve_file(file: Path, overrides: Overrides, cluster: Path | Cluster | None) -> ResolvedJob:
    from clusterwright.config.load import load_both, load_job, require_kind, source_of

    if overrides.fields or overrides.assignments:
        cluster_config = loaded_cluster(cluster) if cluster else None
        source = source_of(file)
        require_kind(source, "job")
        values = {**source.values, **overrides.fields}
        job = _parse_job(_assign(values, overrides.assignments), cluster_config, overrides, source)
    elif isinstance(cluster, Path):
        job, cluster_config = load_both(file, cluster)
    else:
        job, cluster_config = load_job(file, cluster), cluster
    is_overridden = "code" in overrides.fields or any(
        text.startswith("code.folder=") for text in overrides.assignments
    )
    if job.code and not is_overridden:
        from clusterwright.launch.snapshot import check_folder

        check_folder(job.code, file.parent)
    return ResolvedJob(job, cluster_config, file.parent)


def _assign(values: dict[str, Any], assignments: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a job with those of `--set PATH=VALUE`, whose values are parsed as YAML like in a job file.

    Raises:
        WrightError: with every assignment that has no value or is not YAML.
    """
    from clusterwright.config.reader import read

    wrong: list[Finding] = []
    for assignment in assignments:
        path, is_set, text = assignment.partition("=")
        if not is_set:
            fix = _("write the option as --set {path}=VALUE", path=path)
            wrong.append(Finding("train-words", _("--set {path} has no value", path=path), fix))
            continue
        try:
            source = read(f"value: {text}", f"--set {path}")
        except SpecError as error:
            wrong += error.findings
            continue
        wrong += source.findings
        values = _with_field(values, path.split("."), source.values.get("value"))
    if wrong:
        raise WrightError(*wrong, exit_code=EXIT_USAGE)
    return values


def _with_field(section: Any, path: Sequence[str], value: Any) -> dict[str, Any]:
    mapping = section if isinstance(section, dict) else {}
    key, *subpath = path
    return {**mapping, key: _with_field(mapping.get(key), subpath, value) if subpath else value}


def _parse_job(
    values: dict[str, Any], cluster: Cluster | None, overrides: Overrides, source: Source | None = None
) -> Job:
    """Return the job of these fields, parsed and checked like a job file, so that errors read the same.

    Places of errors are the options as typed (`overrides`).

    Raises:
        SpecError: all findings.
    """
    try:
        return _checked_job(values, cluster)
    except SpecError as error:
        typed = dict(_typed(overrides))
        places = [
            tuple(_typed_location(location, typed, source) for location in finding.places)
            for finding in error.findings
        ]
        findings = [
            replace(finding, places=typed_places, fix=_typed_fix(finding, typed))
            for finding, typed_places in zip(error.findings, places, strict=True)
        ]
        raise SpecError(*findings) from error


def _checked_job(values: Mapping[str, Any], cluster: Cluster | None) -> Job:
    from clusterwright.config.load import job_of
    from clusterwright.config.reader import read

    fields = {name: value for name, value in values.items() if value is not None}
    return job_of(read(json.dumps(fields).encode(), "wright train"), cluster)


def _typed(overrides: Overrides) -> Iterator[tuple[str, str]]:
    """Yield each overridden field with its option as typed: `time`, `--time 5hours`."""
    for field_name, value in overrides.fields.items():
        text = value.get("folder") if isinstance(value, dict) else value
        text = ",".join(text) if isinstance(text, list) else str(text)
        yield field_name, f"{_OPTIONS.get(field_name, f'--{field_name}')} {shlex.quote(text)}"
    for assignment in overrides.assignments:
        yield assignment.partition("=")[0], f"--set {shlex.quote(assignment)}"


def _typed_fix(finding: Finding, typed: Mapping[str, str]) -> str:
    """Return the fix of a finding about `--set`, as the option in place of the line of a file: `--set nodes=2`."""
    for location in finding.places:
        key = location.path.rpartition(".")[2]
        if key and typed.get(location.path, "").startswith("--set "):
            return re.sub(rf"(?<![\w.-]){re.escape(key)}: (?=\S)", f"--set {location.path}=", finding.fix)
    return finding.fix


def _typed_location(location: Location, typed: Mapping[str, str], source: Source | None) -> Location:
    """Return the option of the command line that a location is about, else its place in the job file.

    A location of neither has only the name of its field.
    """
    from clusterwright.config.source import dotted

    for path, option in typed.items():
        if location.path == path or location.path.startswith((f"{path}.", f"{path}[")):
            return Location(option)
    loc = next((loc for loc in source.spots if dotted(loc) == location.path), None) if source else None
    if source and loc:
        return source.location(loc)
    return Location(location.file, path=location.path, value=location.value)


def _default_time_s(cluster: Cluster | None, partition: str | None) -> int:
    """Return the default time limit: 12 hours, or less if the chosen or default partition allows less.

    A partition that does not exist is rejected later.
    """
    partitions = cluster.partitions if cluster else {}
    candidates = (
        [partitions[partition]]
        if partition in partitions
        else [candidate for candidate in partitions.values() if candidate.default]
    )
    return min([DEFAULT_TIME_S, *(candidate.max_time for candidate in candidates)])
