"""Files that appear whole."""

import os
import stat
import threading
from pathlib import Path

import pytest

from clusterwright.onhost.lib.files import SCRATCH, remove, rename, replace_link, replacing, write_atomic


def mode_of(path):
    """Its permissions."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_takes_the_place_of_the_old_one(tmp_path, durable):
    """Content and mode are the new ones, and nothing else is left."""
    path = tmp_path / "file"
    write_atomic(path, "old")
    write_atomic(path, b"new", mode=0o640, durable=durable)

    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o640)
    assert os.listdir(tmp_path) == ["file"]


def test_a_mode_that_is_not_set_is_what_open_makes(tmp_path):
    """The umask of a user who hides everything hides this, too."""
    before = os.umask(0o077)
    try:
        write_atomic(tmp_path / "file", "text")
    finally:
        os.umask(before)

    assert mode_of(tmp_path / "file") == 0o600


def test_a_failure_leaves_the_old_file(tmp_path):
    """Whatever ends the block."""
    path = tmp_path / "file"
    path.write_text("old")

    def write_half():
        with replacing(path) as file:
            file.write(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_secret_is_never_readable_on_its_way(tmp_path):
    """A checker sees the new file by its name, and nobody else does."""
    with replacing(tmp_path / "key", mode=0o644) as file:
        scratch = Path(file.name)

        assert (mode_of(scratch), scratch.parent) == (0o600, tmp_path)
        assert scratch.name.startswith(f".key{SCRATCH}")
    assert mode_of(tmp_path / "key") == 0o644


def test_the_folder_comes_to_the_disk_after_the_name(tmp_path, monkeypatch):
    """File, name, folder: in this order, and none of it where nothing waits for the disk."""
    calls = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda handle: calls.append(os.path.isdir(f"/proc/self/fd/{handle}")) or sync(handle)
    )
    monkeypatch.setattr(os, "replace", lambda *pair: calls.append("replace") or replace(*pair))
    write_atomic(tmp_path / "one", "text")
    write_atomic(tmp_path / "two", "text", durable=False)

    assert calls == [False, "replace", True, "replace"]


def test_two_writers_at_once_leave_one_whole_file(tmp_path):
    """Threads of one process have names of their own."""
    texts = [letter * 200_000 for letter in "abcd"]
    threads = [threading.Thread(target=write_atomic, args=(tmp_path / "file", text)) for text in texts]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

    assert (tmp_path / "file").read_text() in texts
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_that_is_the_target_is_replaced_and_not_followed(tmp_path):
    """What it led to stays as it was."""
    (tmp_path / "other").write_text("other")
    (tmp_path / "file").symlink_to("other")
    write_atomic(tmp_path / "file", "text")

    assert (tmp_path / "other").read_text() == "other"
    assert not (tmp_path / "file").is_symlink()


def test_a_link_leads_elsewhere_in_one_step(tmp_path):
    """From nothing, and from another target."""
    for target in ("one", "two"):
        replace_link(tmp_path / "link", target)

        assert os.readlink(tmp_path / "link") == target
    assert os.listdir(tmp_path) == ["link"]


def test_a_folder_gets_its_name(tmp_path):
    """With what is in it; and what is gone can be removed again."""
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "file").touch()
    rename(tmp_path / "part", tmp_path / "whole", durable=True)
    remove(tmp_path / "whole" / "file")
    remove(tmp_path / "whole" / "file")

    assert os.listdir(tmp_path) == ["whole"]
    assert os.listdir(tmp_path / "whole") == []
