"""The journal."""

import fcntl
import os
from pathlib import Path

import pytest

from clusterwright.errors import WrightError
from clusterwright.lab import state
from clusterwright.lab.state import _JSON, Fault, LabState, Process


@pytest.fixture
def journal(planned):
    """A lab that stands, with one fault."""
    return LabState(
        planned, "up", "boot", "file", "/image", ("--bind-ro=/env",), {"control": Process(7, 1234)},
        (Fault("link-down", "control", {"network": "compute"}, 1.5),),
    )  # fmt: skip


def test_a_journal_is_read_as_it_was_written(journal):
    """Everything that down needs is in it."""
    assert _JSON.validate_json(_JSON.dump_json(journal)) == journal


def test_a_fault_is_added_and_taken_away(journal):
    """The journal itself never changes: each step is another one."""
    fault = Fault("kill-host", "gpu-node1")

    assert journal.with_fault(fault).without_fault(fault) == journal
    assert journal.with_process("control", Process(8, 1)).processes["control"].pid == 8
    assert journal.processes["control"].pid == 7


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", "-x", "A", "a\n", "a" * 64])
def test_a_name_never_becomes_another_path(name):
    """What no cluster can be called is refused before it meets the file system."""
    with pytest.raises(WrightError, match="lab-unknown"):
        state.folder(name)


def test_a_lab_that_is_not_there_is_told_with_those_that_are(monkeypatch):
    """And, without any, how to make one."""
    monkeypatch.setattr(state, "labs", lambda: ())
    with pytest.raises(WrightError, match="wright lab up"):
        state.require("no-such-lab-anywhere")


def test_a_lock_is_held_on_the_folder_that_is_there(tmp_path):
    """It is made if need be, and may go while it is held."""
    with state.locked(tmp_path / "lab"):
        (tmp_path / "lab").rmdir()
    with state.locked(tmp_path / "lab"):
        assert (tmp_path / "lab").is_dir()


def test_no_other_user_opens_a_folder_that_is_locked(tmp_path):
    """It has disks and keys of lab hosts, and who can open it can hold its lock for ever."""
    for folder in (tmp_path / "labs", tmp_path / "labs" / "lab"):
        folder.mkdir(mode=0o755)
        with state.locked(folder):
            assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_who_opened_a_public_folder_holds_up_no_command_for_ever(tmp_path, monkeypatch, mode):
    """Also once it is private: the lock of an open folder stays."""
    monkeypatch.setattr(state, "_PUBLIC_S", 0.3)
    monkeypatch.setattr(state, "_WAIT_S", 0.3)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    tmp_path.chmod(mode)
    with pytest.raises(WrightError, match="lab-locked"), state.locked(tmp_path):
        pass
    os.close(handle)
    with state.locked(tmp_path):
        assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_folder_is_private_from_its_creation(tmp_path, monkeypatch):
    """Else another user opens it before its mode is changed."""
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    with state.locked(tmp_path / "labs"):
        assert (tmp_path / "labs").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("text", ['{"schema": 2}', '{"schema": "1"}', "{", "[]", "[" * 60_000])
def test_a_journal_that_this_version_cannot_read_names_itself(tmp_path, monkeypatch, text):
    """Of a newer version or torn: nothing of the lab is removed by guess, and no traceback is printed."""
    monkeypatch.setattr(state, "folder", lambda _name: tmp_path)  # the folder of labs belongs to root
    (tmp_path / "lab.json").write_text(text)

    with pytest.raises(WrightError, match="lab-journal-unreadable"):
        state.read("any")


def test_the_journal_of_each_version_is_read(tmp_path, monkeypatch):
    """One file a version."""
    monkeypatch.setattr(state, "folder", lambda _name: tmp_path)  # the folder of labs belongs to root
    files = sorted((Path(__file__).parents[1] / "data" / "formats").glob("lab-*.json"))
    for file in files:
        (tmp_path / "lab.json").write_bytes(file.read_bytes())
        journal = state.read("any")
        assert (journal.phase, journal.faults[0].kind) == ("up", "link-down")

    assert len(files) == state.SCHEMA
