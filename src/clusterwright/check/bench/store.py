"""Store bench results in one SQLite file per cluster: one row a measurement, each with its versions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.check.bench.measure import Measurement
from clusterwright.check.verdict import Status, Verdict
from clusterwright.edge.secrets import state_folder
from clusterwright.edge.sqlite_files import connect, epoch_seconds, refuse_other_tables
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

SCHEMA = 1  # PRAGMA user_version
FILE = "bench.sqlite"
BUSY_S = 30.0
_TABLES = """
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, bench TEXT NOT NULL, time REAL NOT NULL, job TEXT NOT NULL, hosts TEXT NOT NULL,
  notes TEXT NOT NULL
);
CREATE TABLE measurements (
  run INTEGER NOT NULL REFERENCES runs(id), subject TEXT NOT NULL, quantity TEXT NOT NULL, unit TEXT NOT NULL,
  value REAL NOT NULL, hosts TEXT NOT NULL, conditions TEXT NOT NULL, versions TEXT NOT NULL
);
CREATE TABLE verdicts (
  run INTEGER NOT NULL REFERENCES runs(id), subject TEXT NOT NULL, part TEXT NOT NULL, status TEXT NOT NULL,
  observed TEXT NOT NULL, expected TEXT NOT NULL, fix TEXT NOT NULL
);
CREATE INDEX of_run ON measurements(run);
"""

Versions = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """One stored run of a bench; `versions` by host."""

    id: int
    bench: str
    time: float
    job: str
    hosts: tuple[str, ...]
    notes: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    verdicts: tuple[Verdict, ...]
    versions: Mapping[str, Versions]


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the list of runs."""

    id: int
    bench: str
    time: float
    job: str
    hosts: tuple[str, ...]
    measurements: int
    statuses: Mapping[str, int]


def file_of(cluster: str) -> Path:
    """Return the path of the SQLite file with the cluster's bench results."""
    return state_folder(cluster) / FILE


def save(path: Path, run: Stored) -> int:
    """Add a run of a bench, with measurements and verdicts, to the database at `path`; return its number.

    Raises:
        WrightError: a newer version of Clusterwright wrote the file.
    """
    with _opened(path) as base, base:
        number = base.execute(
            "INSERT INTO runs (bench, time, job, hosts, notes) VALUES (?, ?, ?, ?, ?)",
            (run.bench, run.time, run.job, json.dumps(run.hosts), json.dumps(run.notes)),
        ).lastrowid
        base.executemany(
            "INSERT INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(number, *_row(measurement, run.versions)) for measurement in run.measurements],
        )
        base.executemany(
            "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (number, v.subject, v.part, v.status.value, v.observed, v.expected, v.fix)
                for v in run.verdicts
            ],
        )
    return number or 0


def read(path: Path, number: int) -> Stored:
    """Return the run of a bench of this number, with measurements and verdicts, from the database at `path`.

    Raises:
        WrightError: there is no run of that number; the fix lists the most recent.
    """
    with _opened(path) as base:
        stored = _read(base, [number])
        if not stored:
            recent = [str(row[0]) for row in base.execute("SELECT id FROM runs ORDER BY id DESC LIMIT 8")]
            fix = (
                _("the most recent benches are {recent}", recent=", ".join(recent))
                if recent
                else _("run a bench first: wright bench network")
            )
            message = _("{path} has no bench {number}", path=path, number=number)
            raise WrightError.from_code("bench-no-run", message, fix, exit_code=EXIT_USAGE)
        return stored[0]


def _read(base: sqlite3.Connection, numbers: Sequence[int]) -> list[Stored]:
    """Return the stored runs of these numbers, with one query for each table; missing numbers are left out."""
    ids = (json.dumps(numbers),)
    runs = base.execute(
        "SELECT id, bench, time, job, hosts, notes FROM runs WHERE id IN (SELECT value FROM json_each(?))",
        ids,
    ).fetchall()
    rows: dict[int, list[Sequence[Any]]] = {run[0]: [] for run in runs}
    judged: dict[int, list[Sequence[Any]]] = {run[0]: [] for run in runs}
    for number, *row in base.execute(
        "SELECT run, subject, quantity, unit, value, hosts, conditions, versions FROM measurements"
        " WHERE run IN (SELECT value FROM json_each(?)) ORDER BY rowid",
        ids,
    ):
        rows[number].append(row)
    for number, *row in base.execute(
        "SELECT run, subject, status, observed, expected, fix, part FROM verdicts"
        " WHERE run IN (SELECT value FROM json_each(?)) ORDER BY rowid",
        ids,
    ):
        judged[number].append(row)
    return [_stored(run, rows[run[0]], judged[run[0]]) for run in runs]


def _stored(run: Sequence[Any], rows: list[Sequence[Any]], judged: list[Sequence[Any]]) -> Stored:
    number, bench, time, job, hosts, notes = run
    measurements = tuple(_measurement(bench, row) for row in rows)
    versions = {
        host: _mapping(host_versions, str, type(None))
        for row in rows
        for host, host_versions in _mapping(json.loads(row[6]), dict).items()
    }
    verdicts = tuple(Verdict(v[0], bench, Status(v[1]), *v[2:]) for v in judged)
    return Stored(
        number,
        bench,
        epoch_seconds(time),
        job,
        _texts(hosts),
        _texts(notes),
        measurements,
        verdicts,
        versions,
    )


def runs(path: Path) -> list[Listed]:
    """Return all runs, the newest first, with numbers of measurements and verdicts; the file is created if missing."""
    with _opened(path) as base:
        rows = base.execute(
            "SELECT id, bench, time, job, hosts, (SELECT count(*) FROM measurements WHERE run = id)"
            " FROM runs ORDER BY id DESC"
        ).fetchall()
        counted = base.execute("SELECT run, status, count(*) FROM verdicts GROUP BY run, status").fetchall()
        statuses: dict[int, dict[str, int]] = {}
        for number, status, count in counted:
            statuses.setdefault(number, {})[status] = count
        return [
            Listed(
                number,
                bench,
                epoch_seconds(time),
                job,
                _texts(hosts),
                count,
                statuses.get(number, {}),
            )
            for number, bench, time, job, hosts, count in rows
        ]


def latest(path: Path) -> list[Stored]:
    """Return the newest run of each bench; empty if nothing was measured."""
    if not path.exists():
        return []
    with _opened(path) as base:
        numbers = [row[0] for row in base.execute("SELECT max(id) FROM runs GROUP BY bench")]
        newest = _read(base, numbers)
    return sorted(newest, key=lambda run: run.bench)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the SQLite file of bench results as a context manager; create it if missing.

    Raises:
        WrightError: A newer version of Clusterwright wrote the file, or it is damaged or another program's.
    """
    try:
        with _connection(path) as base:
            yield base
    except (sqlite3.DatabaseError, ValueError, LookupError, TypeError, RecursionError, MemoryError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error


@contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path, timeout=BUSY_S)) as base:
        schema = base.execute("PRAGMA user_version").fetchone()[0]
        if schema > SCHEMA:
            raise _newer(path, schema)
        refuse_other_tables(base, _TABLES)
        base.execute("PRAGMA journal_mode = WAL")
        with base:
            base.execute("BEGIN IMMEDIATE")
            schema = base.execute("PRAGMA user_version").fetchone()[0]
            if schema < SCHEMA:
                for statement in _TABLES.split(";"):
                    base.execute(statement)
                base.execute(f"PRAGMA user_version = {SCHEMA}")
        yield base


def _damaged(path: Path, reason: str) -> WrightError:
    return WrightError.from_code(
        "bench-store-damaged",
        _("{path} is no intact file of bench results: {reason}", path=path, reason=reason),
        _("move the file away: the next bench creates a new one"),
    )


def _newer(path: Path, schema: int) -> WrightError:
    return WrightError.from_code(
        "bench-store-newer",
        _(
            "{path} has schema {schema}; this version of clusterwright supports {supported}",
            path=path,
            schema=schema,
            supported=SCHEMA,
        ),
        _("use the version that wrote it, or move the file: the next bench then creates a new one"),
    )


def _row(measurement: Measurement, versions: Mapping[str, Versions]) -> Sequence[Any]:
    host_versions = {host: dict(versions[host]) for host in measurement.hosts if host in versions}
    return (
        measurement.subject,
        measurement.quantity,
        measurement.unit,
        measurement.value,
        json.dumps(measurement.hosts),
        json.dumps(dict(measurement.conditions)),
        json.dumps(host_versions),
    )


def _measurement(bench: str, row: Sequence[Any]) -> Measurement:
    subject, quantity, unit, value, hosts, conditions, _versions = row
    scalars = _mapping(json.loads(conditions), str, int, float, type(None))
    return Measurement(bench, subject, quantity, unit, float(value), _texts(hosts), scalars)


def _texts(text: str) -> tuple[str, ...]:
    """Return a stored list of texts; another JSON value raises TypeError, which means a damaged file."""
    values = json.loads(text)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"not a list of texts: {text[:80]}")
    return tuple(values)


def _mapping(value: Any, *kinds: type) -> dict[str, Any]:
    """Return a stored object if its values are of these types; else raise TypeError, as of a damaged file."""
    if not isinstance(value, dict) or not all(isinstance(item, kinds) for item in value.values()):
        raise TypeError(f"not an object of such values: {str(value)[:80]}")
    return value
