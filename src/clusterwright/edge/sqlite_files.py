"""Open SQLite files that somebody else may have written, and check them before they are read."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from clusterwright.i18n import _

LENGTH = 16 << 20  # bytes of a text or row; ours have some kilobytes
COMPANIONS = ("-journal", "-wal", "-shm")  # what SQLite adds to the name of a file
CREATED_S = 2.0  # seconds in which another process creates the file
_TYPES = {"INTEGER": "integer", "REAL": "real", "TEXT": "text"}  # of a column, and of a value in it
_COLUMNS = (
    "SELECT name, upper(type), [notnull], dflt_value, pk, hidden FROM pragma_table_xinfo(?) ORDER BY cid"
)
_INDEXES = (
    "SELECT list.name, list.[unique], list.partial, info.cid, info.name, info.desc, info.coll"
    " FROM pragma_index_list(?) AS list JOIN pragma_index_xinfo(list.name) AS info ORDER BY list.name, info.seqno"
)
_OTHER_TYPE = (
    "SELECT 1 FROM {table} WHERE typeof({column}) NOT IN (?, 'null')"
    " OR typeof({column}) = 'real' AND abs({column}) = 9e999 LIMIT 1"
)
# Of AUTOINCREMENT. Statistics of ANALYZE are refused: by false ones SQLite reads a table again for each row of another.
_OF_SQLITE = ("sqlite_sequence",)
Shape = Mapping[str, tuple[object, ...]]


def connect(path: Path | str, **options: Any) -> sqlite3.Connection:
    """Connect to a file in WAL mode, without what SQLite would do with the files beside it before any statement.

    A rollback journal names a file that SQLite then deletes. Ours exists only while the file is created.

    Raises:
        sqlite3.DatabaseError: there is a rollback journal, or the file or another one beside it is a link, no regular
            file, or that of another user.
    """
    rollback_journal = Path(f"{path}{COMPANIONS[0]}")
    end = time.monotonic() + CREATED_S
    while os.path.lexists(rollback_journal) and time.monotonic() < end:
        time.sleep(0.05)
    owners = {0, os.geteuid(), Path(path).parent.stat().st_uid}
    for file in (Path(path), *(Path(f"{path}{suffix}") for suffix in COMPANIONS)):
        with suppress(FileNotFoundError):
            status = file.lstat()
            is_ours = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid in owners
            if file == rollback_journal or not is_ours:
                raise sqlite3.DatabaseError(
                    _(
                        "clusterwright did not write `{file}`, which is a link, a file of another user or a journal "
                        "of an interrupted write; move the file away",
                        file=file.name,
                    )
                )
    database: sqlite3.Connection = sqlite3.connect(path, **options)
    return database


def refuse_other_tables(database: sqlite3.Connection, tables: str) -> None:
    """Refuse a file with anything but tables and indexes that the statements `tables` create; some may be missing.

    In another file, reading or writing a row may compute anything, by views, triggers, defaults, generated columns and
    indexes of expressions: a small file could have rows or texts without end.

    Raises:
        sqlite3.DatabaseError: The file has other tables, columns or indexes, values of other types, or is damaged.
    """
    expected = _expected_shape(tables)
    for kind, name, root in _entries(database):
        is_expected = name in expected and kind == ("index" if expected[name] == () else "table")
        if not root or not (is_expected or (kind == "table" and name in _OF_SQLITE)):
            raise sqlite3.DatabaseError(
                _(
                    "the database has a table, view, index or trigger that is not of Clusterwright, `{name}`",
                    name=name,
                )
            )
    for name, shape in _shape(database).items():
        if shape != expected.get(name, shape):
            raise sqlite3.DatabaseError(
                _("table `{name}` of the database has other columns or indexes than expected", name=name)
            )
    database.execute("PRAGMA ignore_check_constraints = ON")  # else quick_check computes them
    report = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    if report != "ok":
        raise sqlite3.DatabaseError(report)
    _refuse_other_types(database, expected)


def _entries(database: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Return type, name and root page of all tables, indexes, views and triggers of a file that is not trusted.

    The first statement loads the definitions, and with them the statistics of ANALYZE, whose columns may be expressions
    too. A depth of 1 permits names and literals only.
    """
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH)
    database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 1)
    database.execute("PRAGMA trusted_schema = OFF")
    entries = database.execute("SELECT type, name, rootpage FROM sqlite_master").fetchall()
    database.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 1000)  # SQLite's default
    return entries


def epoch_seconds(value: float) -> float:
    """Return a time of a row that has been checked to be one.

    Raises:
        ValueError: The number is no time of a calendar year.
    """
    try:
        datetime.fromtimestamp(value, UTC)
    except (OSError, OverflowError) as error:  # by the size of the number
        raise ValueError(str(error)) from error
    return value


@cache
def _expected_shape(tables: str) -> Shape:
    """Return the tables, columns and indexes that the statements create."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(tables)
        return _shape(database)


def _shape(database: sqlite3.Connection) -> Shape:
    """Return the columns and indexes of each table; an index itself has none."""
    names = dict(database.execute("SELECT name, type FROM sqlite_master").fetchall())
    return {
        name: (*database.execute(_COLUMNS, (name,)), *database.execute(_INDEXES, (name,)))
        if kind == "table"
        else ()
        for name, kind in names.items()
    }


def _refuse_other_types(database: sqlite3.Connection, expected: Shape) -> None:
    """Refuse a value whose type is not its column's, and infinity: SQLite stores any value in any column."""
    for table in (name for name, shape in expected.items() if shape and not name.startswith("sqlite_")):
        for column, kind in database.execute("SELECT name, upper(type) FROM pragma_table_info(?)", (table,)):
            query = _OTHER_TYPE.format(table=table, column=column)
            if database.execute(query, (_TYPES[kind],)).fetchone():
                raise sqlite3.DatabaseError(
                    _(
                        "a value in column `{column}` of `{table}` has another type",
                        column=column,
                        table=table,
                    )
                )
