"""Modes are read from a cache that is never older than they are."""

import json
import shutil

import pytest

from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.mode import FOLDER, tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A few mode files, and a cache of our own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(FOLDER / "shm", tmp_path / "modes" / "shm")
    return tmp_path / "modes"


def test_the_second_time_the_same_is_known(folder, tmp_path):
    """From the cache."""
    first = knowledge(folder)
    kept = tmp_path / "cache" / "clusterwright" / "why-modes.json"
    said = json.loads(kept.read_text())
    second = knowledge(folder)

    assert said["modes"] == tables(folder)
    assert [second[name] for name in second] == [first[name] for name in first]


def test_a_mode_that_changes_is_read_again(folder):
    """And one that is added, and one that is gone."""
    before = set(knowledge(folder))
    one, other, *_ = sorted(folder.glob("*/*.toml"))
    one.write_text(one.read_text().replace('cause = "', 'cause = "Changed: '))
    other.rename(other.with_name("renamed.toml"))

    after = knowledge(folder)

    assert set(after) == before - {f"shm/{other.stem}"} | {"shm/renamed"}
    assert after[f"shm/{one.stem}"].cause.startswith("Changed: ")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"stamp": 1}', "\0"])
def test_a_cache_that_is_damaged_is_made_again(folder, tmp_path, text):
    """It is only a cache."""
    kept = tmp_path / "cache" / "clusterwright" / "why-modes.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(text)

    assert set(knowledge(folder)) == set(tables(folder))
    assert json.loads(kept.read_text())["modes"] == tables(folder)


def test_no_place_for_a_cache_is_no_error(folder, tmp_path, monkeypatch):
    """A home that cannot be written."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert set(knowledge(folder)) == set(tables(folder))


def test_every_text_is_looked_for(folder):
    """Of signatures, of what is near them, and of witnesses."""
    known = knowledge(folder)
    wanted = {each.has for name in known for each in known[name].signatures}
    wanted |= {text for name in known for each in known[name].signatures for text in each.near}
    wanted |= {
        each.has
        for name in known
        for each in (*known[name].confirmed_by, *known[name].ruled_out_by)
        if each.has
    }

    assert wanted == set(known.texts)
