"""State of earlier applies on a host: of each version, torn, damaged, and of a newer version."""

import json
import shutil
from pathlib import Path

import pytest

from clusterwright.onhost.lib.versioned import Damaged, Kind, NewerSchema
from clusterwright.onhost.provision import state_files

from .test_agent import STATE, file, host  # noqa: F401 (the fixture)

DATA = Path(__file__).parents[2] / "data" / "formats"
BAD = [
    b"",
    b"{",
    b'{"files": {"/etc/app.conf"',
    b"[]",
    b"null",
    b"\xff\xfe\x00",
    b"[" * 60_000,
    b'{"files": []}',
]
BAD += [b'{"files": {}, "units": [1]}', b'{"schema": 0, "files": {}, "units": []}', b'{"schema": "x"}']


@pytest.fixture
def applied(host):  # noqa: F811 (the fixture)
    """A host after one apply."""
    assert not host("apply", file())["error"]
    return host


def set_aside(folder):
    return [path for path in folder.rglob("*.damaged-*") if path.is_file()]


@pytest.mark.parametrize("data", BAD, ids=range(len(BAD)))
def test_a_damaged_receipt_is_set_aside_and_the_apply_goes_on(applied, data):
    """A check names it and leaves it alone; an apply keeps the damaged bytes under another name, and heals the host."""
    receipt = applied.root / STATE / "receipt.json"
    receipt.write_bytes(data)
    checked = applied("check", file(), when="200")
    assert "receipt.json is damaged" in checked["notes"][0]
    assert receipt.read_bytes() == data
    assert checked["facts"]["interrupted"]  # so that an apply visits the host though nothing else is due
    answer = applied("apply", file(content="two\n"), when="200")
    (old,) = set_aside(applied.root)

    assert answer["error"] == ""
    assert str(old.relative_to(applied.root)) in answer["notes"][0]
    assert old.read_bytes() == data
    assert list(json.loads(receipt.read_text())["files"]) == ["/etc/app.conf"]
    assert (applied.root / "etc/app.conf").read_text() == "two\n"


@pytest.mark.parametrize("name", ["reboot.json", "undo/100/apply.json"])
@pytest.mark.parametrize("data", BAD[:7], ids=range(7))
def test_other_damaged_state_ends_no_command(applied, name, data):
    """Nor does it hide the rest: the list of applies, the next apply and its rollback."""
    (applied.root / STATE / name).write_bytes(data)
    for mode in ("check", "list", "apply"):
        assert applied(mode, file(content="two\n"), when="200")["error"] == ""


@pytest.mark.parametrize(
    "data", [b"\xff\n", b"null\n", b"[1]\n", b'{"sha256": 1}\n', b'{"doing": 5}\n', b"[" * 60_000]
)
def test_damaged_lines_of_the_journal_are_ignored(applied, data):
    """They are of an apply that a crash cut short, and the journal is gone after the next one."""
    journal = applied.root / STATE / "journal.jsonl"
    journal.write_bytes(data + b'{"doing": "file:/etc/app.conf", "sha256": "x"}\n')
    answer = applied("apply", file(content="two\n"), when="200")

    assert answer["error"] == ""
    assert not journal.exists()


@pytest.mark.parametrize("name", ["receipt.json", "journal.jsonl"])
def test_state_of_a_newer_version_is_left_alone(applied, name):
    """The host is not changed, and neither is the file; other hosts go on."""
    path = applied.root / STATE / name
    path.write_text('{"schema": 2, "begin": "1", "files": {}, "units": []}\n')
    answer = applied("apply", file(content="two\n"), when="200")

    assert "schema 2, of a newer version; this version reads 1" in answer["error"]
    assert answer["fault_domain"] == "host"
    assert (applied.root / "etc/app.conf").read_text() == "one\n"
    assert json.loads(path.read_text())["schema"] == 2


@pytest.mark.parametrize("folder", sorted(DATA.glob("host-*")), ids=lambda path: path.name)
def test_the_state_of_each_version_is_read(host, folder):  # noqa: F811 (the fixture)
    """A host with one apply, and a second one that was interrupted: its file is known, and what it left is done."""
    shutil.copytree(folder, host.root / STATE)
    (host.root / "etc").mkdir()
    (host.root / "etc/app.conf").write_text("one\n")
    answer = host("check", when="300")
    listed = host("list", when="300")

    assert (answer["error"], answer["notes"]) == ("", [])
    assert answer["facts"]["interrupted"]
    assert [change["id"] for change in answer["changes"]] == ["gone:/etc/app.conf"]
    assert [row["when"] for row in listed["applies"]] == ["100", "200"]


def test_every_present_schema_has_a_stored_file():
    """A schema that rises needs a file of the new version beside the old one."""
    kinds = [kind for kind in vars(state_files).values() if isinstance(kind, Kind)]

    assert max(kind.schema for kind in kinds) == len(list(DATA.glob("host-*")))


def test_an_older_document_is_migrated_step_by_step():
    """From any schema to the present one; without a number it is the first."""
    kind = Kind(
        3,
        lambda document: document["c"] == "a",
        [lambda old: {"b": old["a"], "schema": 2}, lambda old: {"c": old["b"], "schema": 3}],
    )

    assert kind.parse('{"a": "a"}', "x")["c"] == kind.parse('{"schema": 2, "b": "a"}', "x")["c"] == "a"
    with pytest.raises(Damaged, match="x is damaged"):
        kind.parse('{"b": "a"}', "x")
    with pytest.raises(NewerSchema):
        kind.parse('{"schema": 4}', "x")
