"""The journal."""

import fcntl
import os
import subprocess
import sys
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
def test_who_opened_a_public_folder_holds_up_no_command(tmp_path, monkeypatch, mode):
    """Of an older version; the lock of an open folder stays when the folder becomes private."""
    monkeypatch.setattr(state, "_WAIT_S", 0.3)
    folder = tmp_path / "images"
    folder.mkdir(mode=0o755)
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    folder.chmod(mode)
    with state.locked(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
    os.close(handle)


def test_no_other_user_ever_opens_a_lock(tmp_path, monkeypatch):
    """From its creation on, whatever the umask is; and nothing is left of it."""
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    monkeypatch.setattr(os, "chmod", lambda *_: None)
    before = os.umask(0)
    try:
        with state.locked(tmp_path / "labs"):
            assert (tmp_path / "labs").stat().st_mode & 0o777 == 0o700
            assert (tmp_path / ".labs.lock").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.iterdir()] == ["labs"]


def test_who_waits_reads_for_which_process_and_how_to_stop(tmp_path, monkeypatch, capsys):
    """Within two seconds; in the end it is an error."""
    program = (
        "import sys, time; from pathlib import Path; from clusterwright.lab import state\n"
        f"with state.locked(Path({str(tmp_path / 'labs')!r})): print('held', flush=True); time.sleep(60)"
    )
    monkeypatch.setattr(state, "_WAIT_S", 3.0)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(WrightError, match=f"process {holder.pid} "), state.locked(tmp_path / "labs"):
                pass
            notice = capsys.readouterr().err
            assert f"process {holder.pid} (" in notice
            assert "Ctrl-C" in notice
            assert state._NOTICE_S < 2
        finally:
            holder.kill()
    with state.locked(tmp_path / "labs"):  # the kernel has released it
        assert (tmp_path / ".labs.lock").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to another user")
@pytest.mark.parametrize("name", ["labs", ".labs.lock"])
def test_a_folder_of_another_user_is_not_locked(tmp_path, name):
    """Its owner could open it."""
    path = tmp_path / name
    path.mkdir() if name == "labs" else path.touch()
    os.chown(path, 4711, 4711)
    with pytest.raises(WrightError, match="belongs to user 4711"), state.locked(tmp_path / "labs"):
        pass


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


def test_a_lab_that_does_not_exist_is_created_and_no_other_one_is_proposed(monkeypatch):
    """The labs of this machine, which may be those of other users, are listed."""
    monkeypatch.setattr(state, "labs", lambda: ("alpha", "beta"))

    with pytest.raises(WrightError) as other:
        state.require("zzz-none")
    with pytest.raises(WrightError) as misspelled:
        state.require("alphaa")

    listed = "create it with `wright lab up`; the labs on this machine are alpha, beta"
    assert other.value.findings[0].fix == listed
    assert misspelled.value.findings[0].fix == f"did you mean `alpha`? {listed}"
