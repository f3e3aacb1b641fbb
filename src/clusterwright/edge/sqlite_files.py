"""Check SQLite files that somebody else may have written before they are read."""

from __future__ import annotations

import sqlite3

from clusterwright.i18n import _

LENGTH = 16 << 20  # bytes of a text or row; ours have some kilobytes
SCHEMA_LENGTH = (
    16 << 10
)  # characters of a table's definition: a default in it is the value of each row without one


def refuse_computed(database: sqlite3.Connection) -> None:
    """Refuse a file in which reading a row computes anything: a small file could have rows or texts without end.

    Raises:
        sqlite3.DatabaseError: The file has a view, a trigger, a virtual table or a generated column, or is damaged.
    """
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH)
    database.execute("PRAGMA trusted_schema = OFF")
    computed = database.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') OR (type = 'table' AND rootpage = 0)"
    ).fetchone()
    if computed is not None:
        raise sqlite3.DatabaseError(_("it has a view or trigger, `{name}`", name=computed[0]))
    long = database.execute(
        "SELECT name FROM sqlite_master WHERE length(sql) > ?", (SCHEMA_LENGTH,)
    ).fetchone()
    if long is not None:
        raise sqlite3.DatabaseError(_("the definition of `{name}` is too long", name=long[0]))
    generated = database.execute(
        "SELECT info.name FROM sqlite_master JOIN pragma_table_xinfo(sqlite_master.name) AS info"
        " WHERE sqlite_master.type = 'table' AND info.hidden != 0"
    ).fetchone()
    if generated is not None:
        raise sqlite3.DatabaseError(_("it has a generated column, `{name}`", name=generated[0]))
    database.execute("PRAGMA ignore_check_constraints = ON")  # else quick_check computes them
    report = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
    if report != "ok":
        raise sqlite3.DatabaseError(report)
