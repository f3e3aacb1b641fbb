"""History of the cluster's sums, in a SQLite file of bounded size."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

from clusterwright.edge.clock import Clock
from clusterwright.edge.sqlite_files import COMPANIONS, connect, refuse_other_tables
from clusterwright.monitor.snapshot import Snapshot
from clusterwright.monitor.web.compact import sums
from clusterwright.onhost.lib.files import rename

FIGURES = ("nodes", "up", "gpus", "gpus_used", "use", "running", "waiting", "alerts")
# Seconds of a bucket, and its maximum rows: two days by minute, a month by ten minutes, three years by hour.
ROW_LIMITS = {60: 2880, 600: 4464, 3600: 26352}
SPANS = {"hours": (60, 6 * 3600), "day": (60, 86400), "week": (600, 7 * 86400), "month": (3600, 31 * 86400),
         "year": (3600, 366 * 86400)}  # fmt: skip
MOST = 720  # points sent to a page

_SUMS = ", ".join(f"{name} REAL, {name}_n INTEGER" for name in FIGURES)
_TABLE = f"CREATE TABLE IF NOT EXISTS moments (step INTEGER, at INTEGER, {_SUMS}, PRIMARY KEY (step, at)) WITHOUT ROWID"
_NAMES = ", ".join(f"{name}, {name}_n" for name in FIGURES)
_ADD = ", ".join(
    f"{name} = {name} + excluded.{name}, {name}_n = {name}_n + excluded.{name}_n" for name in FIGURES
)
_INSERT = (
    f"INSERT INTO moments (step, at, {_NAMES}) VALUES (?, ?{', ?' * 2 * len(FIGURES)}) "  # nosec B608 # noqa: S608 (our own names)
    f"ON CONFLICT (step, at) DO UPDATE SET {_ADD}"
)
_DELETE = (
    "DELETE FROM moments WHERE step = ? AND at <= "
    "(SELECT at FROM moments WHERE step = ? ORDER BY at DESC LIMIT 1 OFFSET ?)"
)
_AVERAGES = ", ".join(f"sum({name}) / nullif(sum({name}_n), 0)" for name in FIGURES)
_SELECT = (
    f"SELECT at / ? * ?, {_AVERAGES} FROM moments WHERE step = ? AND at BETWEEN ? AND ? GROUP BY 1 ORDER BY 1"  # nosec B608 # noqa: S608 (our own names)
)


class History:
    """The history file; a damaged file is renamed, and write errors go into `trouble`."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock, self._lock = path, clock, threading.Lock()
        self.trouble = ""
        try:
            self._file = self._opened()
        except sqlite3.DatabaseError:
            self._rename_damaged()
            self._file = self._opened()

    def _opened(self) -> sqlite3.Connection:
        file = connect(self._path, check_same_thread=False, timeout=5)
        try:
            self._path.chmod(0o600)
            refuse_other_tables(file, _TABLE)
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = NORMAL")
            file.execute(_TABLE)
            file.commit()
        except BaseException:
            file.close()
            raise
        return file

    def _rename_damaged(self) -> None:
        """Rename the damaged history file, and SQLite's companion files, to `.damaged` names; skip missing ones."""
        damaged = self._path.with_suffix(".damaged")
        for suffix in ("", *COMPANIONS):
            with suppress(FileNotFoundError):
                rename(Path(f"{self._path}{suffix}"), Path(f"{damaged}{suffix}"), durable=False)

    def add(self, snapshot: Snapshot) -> None:
        """Add the sums of a snapshot to the bucket of each width, and delete the oldest rows above its limit.

        Rows are limited by number, not by age: a clock that jumps must not delete the history. An error of SQLite is
        stored in `trouble`, not raised.
        """
        values = figures(snapshot)
        cells = [part for name in FIGURES for part in (values[name] or 0, int(values[name] is not None))]
        now = int(self._clock.now())
        with self._lock:
            try:
                with self._file:
                    for step, limit in ROW_LIMITS.items():
                        self._file.execute(_INSERT, (step, now // step * step, *cells))
                        self._file.execute(_DELETE, (step, step, limit))
                self.trouble = ""
            except sqlite3.Error as error:
                self.trouble = f"{self._path.name}: {error}"

    def read(self, span: str) -> dict[str, list[float | None]]:
        """Return the cluster's sums over time: lists of means by figure, and of their times in `at`.

        `span` is a key of SPANS, the time up to now. If the file cannot be read, the lists are empty and `trouble` has
        the error.
        """
        (step, seconds), now = SPANS[span], int(self._clock.now())
        wide = -(-seconds // (MOST * step)) * step
        with self._lock:
            try:
                rows = self._file.execute(_SELECT, (wide, wide, step, now - seconds, now)).fetchall()
            except sqlite3.Error as error:
                self.trouble = f"{self._path.name}: {error}"
                rows = []
        columns = list(zip(*rows, strict=True)) if rows else [()] * (1 + len(FIGURES))
        return {name: list(column) for name, column in zip(("at", *FIGURES), columns, strict=True)}

    def close(self) -> None:
        """Close the history file; errors are ignored."""
        with self._lock, suppress(sqlite3.Error):
            self._file.close()


def figures(snapshot: Snapshot) -> dict[str, float | None]:
    """Return the sums of one snapshot by the history's columns; `up`: nodes neither down nor drained.

    None if unknown.
    """
    have = sums(snapshot)
    kinds = have["kinds"]
    out = sum(kinds.get(name, 0) for name in ("down", "drained")) if isinstance(kinds, dict) else 0
    numbers = {name: have[name] for name in FIGURES if name != "up"} | {"up": len(snapshot.nodes) - out}
    return {name: value if isinstance(value, (int, float)) else None for name, value in numbers.items()}
