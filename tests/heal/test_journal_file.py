"""The file of heal's journal: of each version, damaged, and of a newer version."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from clusterwright.errors import WrightError
from clusterwright.heal.journal import Journal
from clusterwright.heal.journal.journal import SCHEMA

DATA = Path(__file__).parents[1] / "data" / "formats"


@pytest.mark.parametrize("file", sorted(DATA.glob("heal-*.sql")), ids=lambda path: path.name)
def test_the_journal_of_each_version_is_opened(file, tmp_path):
    """With the action in it; the dump is text, so that its diff can be read."""
    path = tmp_path / "intents.sqlite"
    database = sqlite3.connect(path)
    database.executescript(file.read_text())
    database.close()
    journal = Journal(path)
    (entry,) = journal.entries()
    journal.close()

    assert (entry.record.intent.host, entry.record.state) == ("gpu-node1", "acted")


def test_every_schema_has_a_stored_file():
    """A schema that rises needs a file of the new version beside the old one."""
    assert len(list(DATA.glob("heal-*.sql"))) == SCHEMA


@pytest.mark.parametrize("data", [b"not a database" * 400, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_journal_stops_heal_and_stays(tmp_path, data):
    """The message names the file and the command; nothing is replaced."""
    path = tmp_path / "intents.sqlite"
    path.write_bytes(data)
    with pytest.raises(WrightError, match="state-damaged") as caught:
        Journal(path)

    assert f"mv {path} {path}.damaged" in str(caught.value)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "computed",
    [
        "CREATE TABLE jobs (job, wall AS (hex(zeroblob(100000000))))",
        "CREATE VIEW jobs AS SELECT 1 job, 2 wall",
    ],
)
def test_a_journal_that_computes_what_is_read_stops_heal(tmp_path, computed):
    """A view could have rows without end, and a generated column texts."""
    path = tmp_path / "intents.sqlite"
    database = sqlite3.connect(path)
    database.executescript(f"{computed}; PRAGMA user_version = {SCHEMA};")
    database.close()
    with pytest.raises(WrightError, match="state-damaged"):
        Journal(path)


def test_a_page_that_is_damaged_is_found_when_the_journal_opens(tmp_path):
    """Not at the first action that needs it."""
    path = tmp_path / "intents.sqlite"
    Journal(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size - 4096)
        file.write(b"\xff" * 4096)

    with pytest.raises(WrightError, match="state-damaged"):
        Journal(path)


def test_a_journal_of_a_newer_version_stops_heal_and_stays(tmp_path):
    """Its number is not lowered."""
    path = tmp_path / "intents.sqlite"
    Journal(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 7")
    database.close()
    before = shutil.copy(path, tmp_path / "copy").read_bytes()
    with pytest.raises(WrightError, match="state-newer"):
        Journal(path)

    assert path.read_bytes() == before
