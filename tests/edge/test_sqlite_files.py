"""SQLite files that somebody else may have written: bench results and heal's journal hold our tables and no others."""

import os
import sqlite3
import struct
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from clusterwright.check.bench import store
from clusterwright.edge.clock import SystemClock
from clusterwright.errors import WrightError
from clusterwright.heal.journal import Journal, journal
from clusterwright.heal.moment import Moment
from clusterwright.monitor.web.history import _TABLE, History

# Reading or writing a row with this value takes hours: it is quadratic.
SLOW = "instr(hex(zeroblob(8000000)), hex(zeroblob(4000000)) || 1)"
LIMIT_S = 5


def bench(path):
    """List the bench results."""
    return store.runs(path)


def bench_save(path):
    """Save a bench result."""
    return store.save(path, store.Stored(0, "network", 0.0, "1", (), (), (), (), {}))


def heal(path):
    """Read heal's journal."""
    with closing(Journal(path)) as opened:
        return opened.entries(), opened.past(Moment("boot", 1.0), 60.0), opened.notifications()


STORES = pytest.mark.parametrize(
    ("use", "tables", "table", "column", "text"),
    [
        (bench, store._TABLES, "runs", "time", "bench"),
        (bench_save, store._TABLES, "runs", "time", "bench"),
        (heal, journal._TABLES, "actions", "s", "host"),
    ],
    ids=["bench", "bench-save", "heal"],
)


def rewritten(path, tables, table, changes):
    """A file with our tables, in which the definition of one is changed as no statement of SQLite would."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA user_version = 1; {tables}; ANALYZE;")
        for old, new in changes.items():
            database.execute("PRAGMA writable_schema = ON")
            done = database.execute(
                "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ? AND instr(sql, ?)",
                (old, new, table, old),
            )
            assert done.rowcount == 1
        database.commit()


def refused(use, path):
    """Whether the file is an error that names it, in time."""
    begun = time.monotonic()
    with pytest.raises(WrightError, match="damaged") as caught:
        use(path)
    return str(path) in str(caught.value) and time.monotonic() - begun < LIMIT_S


@STORES
def test_our_own_file_is_read(tmp_path, use, tables, table, column, text):
    """Without statistics of ANALYZE, which no statement of ours makes: false ones cost time without end."""
    path = tmp_path / "a.sqlite"
    rewritten(path, tables, table, {})
    assert refused(use, path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE sqlite_stat1")
        database.execute("DROP TABLE IF EXISTS sqlite_stat4")

    assert use(path) is not None


@STORES
@pytest.mark.parametrize(
    "definition",
    [
        "CREATE INDEX x ON {table} (" + SLOW + ")",
        "CREATE INDEX x ON {table} ({text}) WHERE " + SLOW,
        "CREATE UNIQUE INDEX x ON {table} ({text})",
        "CREATE INDEX x ON {table} ({text} COLLATE NOCASE)",
        "CREATE TABLE x (a)",
        "CREATE VIEW x AS SELECT 1",
        "CREATE TRIGGER x AFTER INSERT ON {table} BEGIN SELECT " + SLOW + "; END",
        "ALTER TABLE {table} ADD x DEFAULT '" + "x" * 9000 + "'",
        "ALTER TABLE {table} ADD x AS (" + SLOW + ")",
        "ALTER TABLE {table} RENAME {text} TO x",
        "ALTER TABLE {table} DROP {text}",
        "CREATE VIRTUAL TABLE x USING fts5(a)",
    ],
)
def test_other_tables_columns_and_indexes_are_refused(tmp_path, use, tables, table, column, text, definition):
    """Each could compute something whenever a row is read or written."""
    path = tmp_path / "a.sqlite"
    rewritten(path, tables, table, {})
    with closing(sqlite3.connect(path)) as database:
        if "DROP" in definition or "{text} TO" in definition:
            database.execute("DROP INDEX IF EXISTS actions_by_state")
        database.execute(definition.format(table=table, text=text))
        database.commit()

    assert refused(use, path)


@STORES
@pytest.mark.parametrize(
    "changes",
    [
        {"REAL NOT NULL": f"REAL DEFAULT ({SLOW})"},
        {"REAL NOT NULL": f"REAL AS ({SLOW})"},
        {"REAL NOT NULL": "TEXT NOT NULL"},
        {"CREATE TABLE": "CREATE TABLE\0"},
        {"NOT NULL": "NOT NULL DEFAULT (1)"},
    ],
)
def test_a_definition_that_no_statement_writes_is_refused(
    tmp_path, use, tables, table, column, text, changes
):
    """In the bytes of the file."""
    path = tmp_path / "a.sqlite"
    rewritten(path, tables, table, changes)

    assert refused(use, path)


@STORES
def test_statistics_that_compute_are_not_loaded(tmp_path, use, tables, table, column, text):
    """SQLite reads them with the definitions, before any check of ours."""
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"{tables}; CREATE INDEX x ON {table} ({text});")
        columns = database.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        values = ", ".join("1" for _ in columns)
        database.executescript(f"INSERT INTO {table} VALUES ({values}); ANALYZE;")
    rewritten_stat = f"CREATE TABLE sqlite_stat1(tbl, idx, stat AS ({SLOW}))"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'sqlite_stat1'", (rewritten_stat,))
        database.execute("PRAGMA user_version = 1")
        database.commit()

    assert refused(use, path)


@STORES
@pytest.mark.parametrize("name", ["sqlite_stat1", "sqlite_stat9", "sqlite_sequence"])
@pytest.mark.parametrize(
    "definition",
    [
        "CREATE TRIGGER x AFTER INSERT ON {table} BEGIN SELECT 1 FROM {table} a, {table} b, {table} c; END",
        "CREATE VIEW x AS SELECT 1 FROM {table} a, {table} b, {table} c",
    ],
)
def test_a_trigger_or_view_with_a_name_of_sqlites_is_refused(
    tmp_path, use, tables, table, column, text, definition, name
):
    """No statement gives such a name; the bytes of the file do."""
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA user_version = 1; {tables}; {definition.format(table=table)};")
        database.execute("PRAGMA writable_schema = ON")
        database.execute(
            "UPDATE sqlite_master SET name = ?, sql = replace(sql, ' x A', ' ' || ? || ' A') WHERE name = 'x'",
            (name, name),
        )
        database.commit()

    assert refused(use, path)


@STORES
@pytest.mark.parametrize("value", ["x", b"x", float("inf")])
def test_a_value_of_another_type_is_damage(tmp_path, use, tables, table, column, text, value):
    """A time that is no finite number, and a name that is bytes: found when the file opens, not where it is shown."""
    path = tmp_path / "a.sqlite"
    target = text if isinstance(value, bytes) else column
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA user_version = 1; {tables};")
        names = [row[0] for row in database.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        row = {name: 1 for name in names if name != "id"} | {target: value}
        marks = ", ".join("?" for _ in row)
        database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        database.commit()

    assert refused(use, path)


@STORES
@pytest.mark.parametrize("time", [1e300, -1e18, 9e11])
def test_a_time_that_no_calendar_has_is_damage(tmp_path, use, tables, table, column, text, time):
    """One flipped bit of the exponent."""
    path = tmp_path / "a.sqlite"
    column = "wall" if use is heal else column
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA user_version = 1; {tables};")
        names = [row[0] for row in database.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        row = {"hosts": "[]", "notes": "[]", "prior_state": "{}"}
        row = {name: row.get(name, 1) for name in names} | {column: time}
        marks = ", ".join("?" for _ in row)
        database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        database.commit()

    assert refused(bench if use is bench_save else use, path)


@pytest.mark.parametrize("prior", ["[" * 60_000, "5", "{", '["a"]', "9" * 5000])
def test_a_damaged_document_in_the_journal_is_damage(tmp_path, prior):
    """Of an action or an open incident."""
    path = tmp_path / "a.sqlite"
    Journal(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "INSERT INTO incidents VALUES (1, 'gpu-node1', 'gpu_lost', 'boot', 1.0, 0, ?, 1, 1.0)",
            (prior.replace('["a"]', "5"),),
        )
        database.execute(
            "INSERT INTO actions VALUES (1, 1, 'gpu-node1', 'gpu_lost', 'drain', '', '', '', '', ?, 'acted', 'boot',"
            " 1.0, NULL, NULL, 1.0, NULL, '')",
            (prior,),
        )
        database.commit()

    with closing(Journal(path)) as opened:
        for read in (opened.entries, lambda: opened.past(Moment("boot", 1.0), 60.0)):
            with pytest.raises(WrightError, match="state-damaged"):
                read()


def history(path):
    """Open the history of the web page."""
    with closing(History(path, SystemClock())) as opened:
        return opened.read("day")


def rollback_journal(path, victim):
    """A journal as after a crash in a transaction of several files; SQLite deletes the file that it names."""
    with closing(sqlite3.connect(path)) as database:
        pages, size = (
            database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
        )
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(victim).encode()
    head = (magic + struct.pack(">IIIII", 0, 1, pages, 512, size)).ljust(512, b"\0")
    end = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    Path(f"{path}-journal").write_bytes(head + end)


@pytest.mark.parametrize(
    ("use", "tables"),
    [(bench, store._TABLES), (bench_save, store._TABLES), (heal, journal._TABLES), (history, _TABLE)],
)
def test_a_journal_beside_a_file_deletes_no_other_file(tmp_path, use, tables):
    """Of an operator who got both from somebody else."""
    path, victim = tmp_path / "a.sqlite", tmp_path / "victim"
    victim.write_text("of the operator")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA user_version = 1; {tables};")
    rollback_journal(path, victim)
    with suppress(WrightError):
        use(path)

    assert victim.read_text() == "of the operator"


@pytest.mark.parametrize(
    ("use", "tables"), [(bench_save, store._TABLES), (heal, journal._TABLES), (history, _TABLE)]
)
@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_hard_link_beside_a_file_overwrites_no_other_file(tmp_path, use, tables, suffix):
    """SQLite would write its log into the file of which it is a name."""
    path, victim = tmp_path / "a.sqlite", tmp_path / "victim"
    victim.write_bytes(b"of the operator" * 9000)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA journal_mode = WAL; PRAGMA user_version = 1; {tables};")
    os.link(victim, f"{path}{suffix}")
    with suppress(WrightError):
        use(path)

    assert victim.read_bytes() == b"of the operator" * 9000


@pytest.mark.parametrize("use", [bench, heal, history])
@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm", ""])
def test_a_pipe_beside_a_file_holds_nobody_up(tmp_path, use, suffix):
    """Nor one in its place; the history of the page begins anew."""
    path = tmp_path / "a.sqlite"
    os.mkfifo(f"{path}{suffix}")

    if use is history:
        assert use(path)["at"] == []
    else:
        assert refused(use, path)


def test_a_file_that_another_process_creates_is_awaited(tmp_path):
    """Its rollback journal exists for a moment."""
    path = tmp_path / "a.sqlite"
    Path(f"{path}-journal").touch()
    threading.Timer(0.3, Path(f"{path}-journal").unlink).start()

    assert bench(path) == []


def test_a_history_that_computes_begins_anew(tmp_path):
    """As after damage."""
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"CREATE VIEW moments AS SELECT {SLOW} AS at")
        database.commit()
    begun = time.monotonic()

    assert history(path)["at"] == []
    assert time.monotonic() - begun < LIMIT_S
    assert path.with_suffix(".damaged").exists()
