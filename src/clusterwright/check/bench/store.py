"""What benches measured, in one sqlite file of the cluster: one row a measurement, each with its versions."""

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
from clusterwright.errors import WrightError

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
  saw TEXT NOT NULL, want TEXT NOT NULL, mend TEXT NOT NULL
);
CREATE INDEX of_run ON measurements(run);
"""

Versions = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """One bench that was run; `versions` by host."""

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
    """One line of the list."""

    id: int
    bench: str
    time: float
    job: str
    hosts: tuple[str, ...]
    measurements: int
    statuses: Mapping[str, int]


def file_of(cluster: str) -> Path:
    """Where the results of that cluster are."""
    return state_folder(cluster) / FILE


def keep(path: Path, run: Stored) -> int:
    """The run is stored, whole or not at all; its number.

    Raises:
        WrightError: the file is of a newer version of ours.
    """
    with _opened(path) as base, base:
        number = base.execute(
            "INSERT INTO runs (bench, time, job, hosts, notes) VALUES (?, ?, ?, ?, ?)",
            (run.bench, run.time, run.job, json.dumps(run.hosts), json.dumps(run.notes)),
        ).lastrowid
        base.executemany(
            "INSERT INTO measurements VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(number, *_row(each, run.versions)) for each in run.measurements],
        )
        base.executemany(
            "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(number, v.subject, v.part, v.status.value, v.saw, v.want, v.mend) for v in run.verdicts],
        )
    return number or 0


def read(path: Path, number: int) -> Stored:
    """One run.

    Raises:
        WrightError: there is none of that number.
    """
    with _opened(path) as base:
        run = base.execute(
            "SELECT id, bench, time, job, hosts, notes FROM runs WHERE id = ?", (number,)
        ).fetchone()
        if run is None:
            known = [str(row[0]) for row in base.execute("SELECT id FROM runs ORDER BY id DESC LIMIT 8")]
            mend = f"the last ones are {', '.join(known)}" if known else "run one: wright bench network FILE"
            raise WrightError.of("bench-no-run", f"{path} has no bench {number}", mend)
        rows = base.execute(
            "SELECT subject, quantity, unit, value, hosts, conditions, versions FROM measurements WHERE run = ?",
            (number,),
        ).fetchall()
        judged = base.execute(
            "SELECT subject, status, saw, want, mend, part FROM verdicts WHERE run = ?", (number,)
        ).fetchall()
    bench = str(run[1])
    measurements = tuple(_measurement(bench, row) for row in rows)
    versions = {host: found for row in rows for host, found in json.loads(row[6]).items()}
    found = tuple(Verdict(v[0], bench, Status(v[1]), *v[2:]) for v in judged)
    hosts, notes = tuple(json.loads(run[4])), tuple(json.loads(run[5]))
    return Stored(run[0], bench, run[2], run[3], hosts, notes, measurements, found, versions)


def runs(path: Path) -> list[Listed]:
    """All runs, the newest first."""
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
        Listed(number, bench, time, job, tuple(json.loads(hosts)), count, statuses.get(number, {}))
        for number, bench, time, job, hosts, count in rows
    ]


def latest(path: Path) -> list[Stored]:
    """The newest run of each bench; none where nothing was ever measured."""
    if not path.exists():
        return []
    newest = {run.bench: run.id for run in reversed(runs(path))}
    return [read(path, number) for _bench, number in sorted(newest.items())]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, made if missing.

    Raises:
        WrightError: it is of a newer version of ours.
    """
    with closing(sqlite3.connect(path, timeout=BUSY_S)) as base:
        base.execute("PRAGMA journal_mode = WAL")
        with base:
            base.execute("BEGIN IMMEDIATE")
            found = base.execute("PRAGMA user_version").fetchone()[0]
            if found > SCHEMA:
                raise _newer(path, found)
            if found < SCHEMA:
                for statement in _TABLES.split(";"):
                    base.execute(statement)
                base.execute(f"PRAGMA user_version = {SCHEMA}")
        yield base


def _newer(path: Path, found: int) -> WrightError:
    return WrightError.of(
        "bench-store-newer",
        f"{path} has schema {found}, and this version of clusterwright knows {SCHEMA}",
        "use the version that wrote it, or move the file away: the next bench then begins a new one",
    )


def _row(each: Measurement, versions: Mapping[str, Versions]) -> Sequence[Any]:
    of_its_hosts = {host: dict(versions[host]) for host in each.hosts if host in versions}
    return (
        each.subject,
        each.quantity,
        each.unit,
        each.value,
        json.dumps(each.hosts),
        json.dumps(dict(each.conditions)),
        json.dumps(of_its_hosts),
    )


def _measurement(bench: str, row: Sequence[Any]) -> Measurement:
    subject, quantity, unit, value, hosts, conditions, _versions = row
    return Measurement(
        bench, subject, quantity, unit, value, tuple(json.loads(hosts)), json.loads(conditions)
    )
