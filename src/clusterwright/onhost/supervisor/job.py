"""job.json in the folder of a run: written once at submission, read by supervisors, agents and successor jobs.

A run outlives an upgrade of the library on its hosts: its successor jobs read the record of the version that submitted
it. So a new field has a default, which older records get. A change of a field's meaning raises SCHEMA and adds the
migration from the schema before. tests/data/formats has a record of every schema.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple, get_type_hints

from clusterwright.onhost.supervisor.job_fields import JobFields

NAME = "job.json"
SECRETS_FILE = "~/.config/clusterwright/secrets.env"  # of the user, on hosts
FIRST_SCHEMA = 1  # of a record without a number
SCHEMA = 1  # of job.json, the events and all other files of a run
MIGRATIONS: Tuple[Callable[[Dict[str, Any]], Dict[str, Any]], ...] = ()  # from each schema to the next


_NEWER = "a newer version submitted the run; wright apply of that version updates the library on the hosts"


class Launch(NamedTuple):
    """What the launch derives from the job and the cluster; times in seconds."""

    command: Tuple[str, ...]  # arguments for Python; the whole command line of an unsupervised program
    launcher: str
    restarts: int
    grace_s: int  # time for ranks to save and leave
    checkpoints: str  # folder of the checkpoints
    imports: Tuple[str, ...]  # modules that the fork server imports beside torch
    workdir: Optional[str]  # the run's folder if None
    management: str  # network of the heartbeats, such as 10.0.0.0/24
    compute: str  # network of the ranks
    gres: Optional[str]  # Slurm's --gres for each host, such as gpu:a100:4
    image: Optional[Tuple[str, ...]]  # runtime, image, mounts and Python, for inside.py


class JobRecord(NamedTuple):
    """All fields of job.json, the record of a run."""

    run: str
    user: Optional[str]
    submitted: float
    local: bool  # the hosts are local processes
    price: Optional[Dict[str, Any]]
    gpu: Optional[Dict[str, Any]]
    code: Optional[str]  # digest of the copied code
    job: JobFields
    launch: Launch
    hosts: Tuple[str, ...] = ()  # of a run without a scheduler, as ssh takes them: host or user@host

    @property
    def in_slurm(self) -> bool:
        """Return True if Slurm allocates the hosts, starts successor jobs and enforces the time limit."""
        return not self.local and not self.hosts

    @property
    def host_names(self) -> Tuple[str, ...]:
        """Return the names of the hosts of a run without a scheduler, without `user@`; empty in Slurm."""
        return tuple(target.rpartition("@")[2] for target in self.hosts)

    @property
    def min_nodes(self) -> int:
        """Return the smallest number of hosts that the run continues with."""
        return self.job.elastic.min_nodes if self.job.elastic else self.job.nodes


class InvalidRecordError(Exception):
    """job.json is missing, is not JSON, lacks a field without a default, or has a field of a newer version."""


def read_record(run: str) -> JobRecord:
    """Return the record in the folder of a run.

    Raises:
        InvalidRecordError: job.json is missing, of a newer version, or a field is missing or unknown.
    """
    path = os.path.join(run, NAME)
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidRecordError(f"{path}: {error}") from error
    record: JobRecord = _section(JobRecord, _migrated(document, path), path, "")
    return record


def _migrated(document: Any, path: str) -> Any:
    """Return the content of job.json migrated to the present schema, without its schema number.

    Raises:
        InvalidRecordError: a newer version wrote the file at `path`, or it is damaged.
    """
    schema = document.pop("schema", FIRST_SCHEMA) if isinstance(document, dict) else SCHEMA
    if schema not in range(FIRST_SCHEMA, SCHEMA + 1):
        raise InvalidRecordError(f"{path} has schema {schema!r}; this version reads up to {SCHEMA}: {_NEWER}")
    try:
        for migrate in MIGRATIONS[schema - FIRST_SCHEMA :]:
            document = migrate(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidRecordError(f"{path} is damaged: {error!r}") from error
    return document


def _section(kind: Any, fields: Any, path: str, prefix: str) -> Any:
    """Return a JSON object as a named tuple of type `kind`, nested objects included.

    Raises InvalidRecordError for missing and unknown fields; `prefix` is for its message.
    """
    types = get_type_hints(kind)
    names = set(fields) if isinstance(fields, dict) else set()
    required = set(types) - set(kind._field_defaults)
    for problem, wrong, fix in (
        ("missing", required - names, "submit the job again"),
        ("unknown", names - set(types), _NEWER),
    ):
        if wrong:
            listed = ", ".join(sorted(prefix + name for name in wrong))
            raise InvalidRecordError(f"{path}: {problem} field {listed}; {fix}")
    values = {
        name: _value(types[name], fields[name], path, f"{prefix}{name}.") for name in types if name in names
    }
    return kind(**values)


def _value(kind: Any, value: Any, path: str, prefix: str) -> Any:
    """Return a value of job.json converted to the type `kind` of its field: lists to tuples, objects to named tuples.

    `path` and `prefix` name the file and the field in errors.
    """
    inner: Tuple[Any, ...] = getattr(kind, "__args__", ())
    if isinstance(value, list):
        return tuple(_value(inner[0], item, path, prefix) for item in value)
    section = next((candidate for candidate in (kind, *inner) if hasattr(candidate, "_fields")), None)
    if section and isinstance(value, dict):
        return _section(section, value, path, prefix)
    return value
