"""What is kept of benches, and what two of them come to."""

import sqlite3
import time
from dataclasses import replace

import pytest

from clusterwright.check.bench.compare import compare
from clusterwright.check.bench.measure import Measurement
from clusterwright.check.bench.store import SCHEMA, Stored, file_of, latest, read, runs, save
from clusterwright.check.verdict import Status, Verdict
from clusterwright.errors import WrightError

VERSIONS = {"a": {"kernel": "6.1.0", "nccl": "2.21.5"}, "b": {"kernel": "6.1.0", "nccl": "2.21.5"}}


def measured(subject, value, *, unit="bytes/s", hosts=("a", "b"), **conditions):
    """One measurement of a network."""
    return Measurement("network", subject, "bandwidth", unit, value, hosts, {"tool": "iperf3", **conditions})


def run(*measurements, versions=VERSIONS):
    """One bench of two hosts."""
    verdicts = (Verdict("a", "network", Status.WARN, "5 B/s", "9 B/s", "reseat it", "sending"),)
    return Stored(
        0, "network", 1_700_000_000.0, "17", ("a", "b"), ("note",), measurements, verdicts, versions
    )


def test_what_was_kept_is_read_again(tmp_path):
    """Measurements with their conditions, verdicts, notes, and the versions of every host."""
    path = tmp_path / "bench.sqlite"
    number = save(path, run(measured("a>b", 5.0, size=8), measured("b>a", 6.0)))

    found = read(path, number)
    assert found.measurements == (measured("a>b", 5.0, size=8), measured("b>a", 6.0))
    assert found.verdicts == run().verdicts
    assert (found.bench, found.job, found.hosts, found.notes) == ("network", "17", ("a", "b"), ("note",))
    assert found.versions == VERSIONS


def test_every_row_has_the_versions_of_its_hosts(tmp_path):
    """So that one row says under what it was taken."""
    path = tmp_path / "bench.sqlite"
    save(path, run(measured("a", 5.0, hosts=("a",))))

    with sqlite3.connect(path) as base:
        (versions,) = base.execute("SELECT versions FROM measurements").fetchone()
    base.close()
    assert versions == '{"a": {"kernel": "6.1.0", "nccl": "2.21.5"}}'


def test_the_list_is_newest_first_with_its_verdicts_counted(tmp_path):
    """Each run has a number of its own."""
    path = tmp_path / "bench.sqlite"
    one, other = save(path, run(measured("a>b", 5.0))), save(path, run())

    listed = runs(path)
    assert [row.id for row in listed] == [other, one]
    assert listed[1].measurements == 1
    assert listed[0].statuses == {"warn": 1}


def test_the_newest_run_of_each_bench_is_read(tmp_path):
    """By name; before any bench there is none, and no file is made."""
    path = tmp_path / "bench.sqlite"
    assert latest(path) == []
    assert not path.exists()
    save(path, run(measured("a>b", 5.0)))
    numbers = [save(path, run(measured("a>b", 6.0))), save(path, replace(run(), bench="gpu"))]

    assert latest(path) == [read(path, number) for number in reversed(numbers)]


def test_many_benches_with_many_verdicts_are_read_in_time(tmp_path):
    """A file of one megabyte with names of its own: time does not grow with names times rows."""
    path = tmp_path / "bench.sqlite"
    save(path, run())
    with sqlite3.connect(path) as base:
        base.execute("DELETE FROM runs")
        base.executemany(
            "INSERT INTO runs VALUES (?, ?, 1.0, '', '[]', '[]')",
            [(number, f"n{number}") for number in range(1, 3001)],
        )
        base.execute(
            "INSERT INTO verdicts WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)"
            " SELECT i % 3000, '', '', 'ok', '', '', '' FROM n"
        )
        base.execute("INSERT INTO measurements SELECT run, '', '', '', 1.0, '[]', '{}', '{}' FROM verdicts")
    base.close()
    begun = time.process_time()

    assert len(latest(path)) == 3000
    assert len(runs(path)) == 3000
    assert time.process_time() - begun < 10


def test_a_file_of_a_newer_version_is_left_alone(tmp_path):
    """Named, with the fix."""
    path = tmp_path / "bench.sqlite"
    save(path, run())
    with sqlite3.connect(path) as base:
        base.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    base.close()

    with pytest.raises(WrightError, match=f"bench-store-newer.*has schema {SCHEMA + 1}"):
        save(path, run())


def test_a_number_that_is_not_there_names_those_that_are(tmp_path):
    """And says how to make one where there is none."""
    path = tmp_path / "bench.sqlite"
    with pytest.raises(WrightError, match="run a bench first: wright bench network"):
        read(path, 1)
    number = save(path, run())
    with pytest.raises(WrightError, match=f"the most recent benches are {number}"):
        read(path, 99)


def test_results_lie_with_the_clusters_other_state(tmp_path, monkeypatch):
    """Beside its receipts and keys."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert file_of("lab") == tmp_path / "clusterwright" / "lab" / "bench.sqlite"


def test_only_what_moved_beyond_its_own_spread_has_changed():
    """Repeats that lie 20 % apart hide a change of 10 %; equal ones show it."""
    before = run(measured("a>b", 100.0), measured("a>b", 80.0), measured("b>a", 100.0))
    after = run(measured("a>b", 90.0), measured("b>a", 90.0))

    found = compare(before, after)
    assert {change.subject: change.changed for change in found.changes} == {"a>b": False, "b>a": True}
    assert found.changes[0].subject == "b>a"
    assert found.changes[0].ratio == 0.9


def test_other_conditions_are_another_quantity():
    """A figure of our own stream says nothing against one of iperf3; the number of the pass is no condition."""
    before = run(
        Measurement("network", "a>b", "bandwidth", "bytes/s", 9.0, ("a",), {"tool": "tcp", "pass": 1})
    )
    same = run(Measurement("network", "a>b", "bandwidth", "bytes/s", 9.0, ("a",), {"tool": "tcp", "pass": 2}))

    assert compare(before, run(measured("a>b", 9.0))).changes == ()
    assert compare(before, run(measured("b>a", 9.0))).only_after == ("b>a",)
    assert len(compare(before, same).changes) == 1


def test_times_are_compared_by_the_shortest():
    """Lower is better there."""
    before, after = (
        run(measured("x", 2.0, unit="s"), measured("x", 1.0, unit="s")),
        run(measured("x", 3.0, unit="s")),
    )

    assert compare(before, after).changes[0].before == 1.0


def test_versions_that_differ_are_named():
    """Hosts that differ among themselves too."""
    upgraded = {"a": {"kernel": "6.1.0", "nccl": "2.27.3"}, "b": {"kernel": "6.1.0", "nccl": "2.21.5"}}

    found = compare(run(measured("a", 1.0)), run(measured("a", 1.0), versions=upgraded))
    assert found.versions == (("nccl", "2.21.5", "2.21.5, 2.27.3"),)


def test_a_view_in_place_of_a_table_is_refused(tmp_path):
    """It could have rows without end."""
    path = tmp_path / "bench.sqlite"
    with sqlite3.connect(path) as base:
        base.executescript(
            "PRAGMA user_version = 1; CREATE VIEW runs AS WITH RECURSIVE c(id) AS"
            " (SELECT 1 UNION ALL SELECT id + 1 FROM c)"
            " SELECT id, 'network' bench, 0.0 time, '1' job, '[]' hosts, '[]' notes FROM c;"
        )
    for use in (lambda: runs(path), lambda: read(path, 1), lambda: save(path, run())):
        with pytest.raises(WrightError, match="bench-store-damaged"):
            use()


@pytest.mark.parametrize(
    "tables",
    [
        "CREATE TABLE runs (id INTEGER PRIMARY KEY, bench, time, job, hosts AS (hex(zeroblob(100000000))), notes)",
        "CREATE TABLE runs (id INTEGER PRIMARY KEY, bench); CREATE TABLE other (a, b AS (a || a) STORED)",
        "CREATE VIRTUAL TABLE runs USING fts5(id, bench, time, job, hosts, notes)",
        f"CREATE TABLE runs (id INTEGER PRIMARY KEY, bench, time, job, hosts DEFAULT '{'x' * 900_000}', notes)",
    ],
    ids=["generated", "stored", "virtual", "default"],
)
def test_a_file_that_computes_what_is_read_is_refused(tmp_path, tables):
    """A file of 40 kB could otherwise fill all memory."""
    path = tmp_path / "bench.sqlite"
    with sqlite3.connect(path) as base:
        base.executescript(f"PRAGMA user_version = {SCHEMA}; {tables};")
        base.executemany("INSERT INTO runs (bench) VALUES (?)", [("network",)] * 20)
    base.close()

    with pytest.raises(WrightError, match="bench-store-damaged"):
        runs(path)


def test_a_text_without_end_is_refused(tmp_path):
    """Also where a default value computes it, in a column that we do not write."""
    path = tmp_path / "bench.sqlite"
    save(path, run())
    with sqlite3.connect(path) as base:
        base.execute("ALTER TABLE runs RENAME TO old")
        base.execute(
            "CREATE TABLE runs (id INTEGER PRIMARY KEY, bench, time, job, hosts, notes,"
            " x DEFAULT (hex(zeroblob(99999999))))"
        )
    base.close()

    with pytest.raises(WrightError, match="bench-store-damaged"):
        save(path, run())


@pytest.mark.parametrize(("column", "value"), [("hosts", "[" * 200_000), ("hosts", "5"), ("notes", "x")])
def test_a_damaged_row_is_an_error(tmp_path, column, value):
    """With the file's name and what to do."""
    path = tmp_path / "bench.sqlite"
    number = save(path, run(measured("a>b", 5.0)))
    with sqlite3.connect(path) as base:
        base.execute(f"UPDATE runs SET {column} = ?", (value,))
    with pytest.raises(WrightError, match="bench-store-damaged"):
        read(path, number)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("hosts", text) for text in ("[5]", '"gpu-node1"')),
        *(("conditions", text) for text in ("[]", '{"size": {}}')),
        *(("versions", text) for text in ("[]", '{"gpu-node1": 5}', '{"gpu-node1": {"kernel": []}}')),
    ],
)
def test_values_of_another_type_are_a_damaged_file(tmp_path, column, value):
    """Valid JSON that Clusterwright does not write is no bug of the command that reads it."""
    path = tmp_path / "bench.sqlite"
    number = save(path, run(measured("a>b", 5.0)))
    with sqlite3.connect(path) as base:
        base.execute(f"UPDATE measurements SET {column} = ?", (value,))
        if column == "hosts":
            base.execute("UPDATE runs SET hosts = ?", (value,))
    for use in (lambda: read(path, number), *([lambda: runs(path)] if column == "hosts" else [])):
        with pytest.raises(WrightError, match="bench-store-damaged"):
            use()


def test_a_file_that_is_no_database_is_an_error(tmp_path):
    """It stays as it is."""
    path = tmp_path / "bench.sqlite"
    path.write_bytes(b"x" * 5000)
    with pytest.raises(WrightError, match="bench-store-damaged"):
        runs(path)
    assert path.read_bytes() == b"x" * 5000
