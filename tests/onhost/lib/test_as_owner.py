"""Work in the folder of a user whom nobody trusts."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from tests.forks import forked

from clusterwright.onhost.lib import as_owner as as_owner_module
from clusterwright.onhost.lib.as_owner import OwnerWorkError, WorkLimits, account_of, as_owner
from clusterwright.onhost.lib.files import append
from clusterwright.onhost.lib.safe_reader import UnsafeFileError, list_folder, read_text
from clusterwright.onhost.runs import run_checkpoints

ALICE, MALLORY = 48_101, 48_102
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root works as another user"),
    pytest.mark.timeout(60),
]


@pytest.fixture
def shared():
    """A folder that every user reaches and in which each has one."""
    path = Path(tempfile.mkdtemp(prefix="cw-owner-", dir="/tmp"))
    path.chmod(0o1777)
    for uid in (ALICE, MALLORY):
        folder = path / str(uid)
        folder.mkdir()
        os.chown(folder, uid, uid)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def secret(shared):
    """A file that only root can read."""
    path = shared / "secret"
    path.write_text("secret of root")
    path.chmod(0o600)
    return path


def ids():
    """Return all that a process may be judged by."""
    return [*os.getresuid(), *os.getresgid(), *os.getgroups()]


def test_the_work_has_the_owners_rights_and_none_of_roots(shared):
    """User, group and supplementary groups; the caller retains its own."""
    before = ids()

    assert set(as_owner(shared / str(ALICE), ids)) == {ALICE, 65534}
    assert ids() == before
    with pytest.raises(PermissionError):
        as_owner(shared / str(ALICE), lambda: os.setuid(0))


def test_a_link_leads_the_work_no_further_than_its_owner(shared, secret):
    """Reading and writing, through the file or a folder."""
    run = shared / str(MALLORY)
    (run / "file").symlink_to(secret)
    with pytest.raises(PermissionError):
        as_owner(run, (run / "file").read_text)
    with pytest.raises(PermissionError):
        as_owner(run, lambda: (run / "file").write_text("x"))

    assert secret.read_text() == "secret of root"


def test_what_another_user_wrote_fills_no_memory(shared):
    """Brackets of a manifest or an event become twenty times as much; the caller goes on, with a reason."""
    brackets = shared / str(MALLORY) / "brackets"
    brackets.write_text("[" + "[]," * 12_000_000 + "[]]")

    def peak(whose=resource.RUSAGE_CHILDREN):
        return resource.getrusage(whose).ru_maxrss

    before = max(peak(), peak(resource.RUSAGE_SELF))
    with pytest.raises(OwnerWorkError, match="more than 256 MiB of memory"):
        as_owner(
            shared / str(MALLORY),
            lambda: json.loads(brackets.read_text()),
            WorkLimits(memory_bytes=256 << 20),
        )

    assert peak() < before + (400 << 10)  # KiB; without the limit, a gigabyte
    assert as_owner(shared / str(MALLORY), lambda: len(b" " * (100 << 20))) == 100 << 20


def test_what_another_user_wrote_takes_no_processor_without_end(shared):
    """Also when nobody waits for the result any more."""

    def spin():
        while True:
            pass

    with pytest.raises(OwnerWorkError, match="more than 1 s of processor time"):
        as_owner(shared / str(MALLORY), spin, WorkLimits(cpu_s=1))


def test_a_link_to_the_folder_of_another_gives_nobody_his_rights(shared, secret):
    """Neither root's nor those of the other user."""
    run = shared / str(MALLORY)
    (run / "root").symlink_to("/root")
    (run / "alice").symlink_to(shared / str(ALICE))
    for name in ("root", "alice"):
        with pytest.raises(UnsafeFileError):
            as_owner(run / name, ids)


def test_root_of_a_user_namespace_works_in_its_own_process(shared):
    """It can become no user that its namespace lacks, and has no rights over that user's files."""
    (shared / str(ALICE)).chmod(0o755)
    program = (
        "import os, sys; from clusterwright.onhost.lib.as_owner import as_owner; "
        "print(os.stat(sys.argv[1]).st_uid, as_owner(sys.argv[1], lambda: os.getpid()) == os.getpid())"
    )
    command = ["unshare", "-r", sys.executable, "-c", program, str(shared / str(ALICE))]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert (outcome.stdout, outcome.stderr) == ("65534 True\n", "")


def test_a_folder_of_root_inside_a_users_folder_is_worked_in_as_that_user(shared):
    """Who can exchange it decides."""
    (shared / str(MALLORY) / "made-by-root").mkdir()

    assert account_of(shared / str(MALLORY) / "made-by-root").uid == MALLORY


def test_a_folder_inside_another_users_folder_is_refused(shared):
    """Its parent's owner could exchange it while the work goes on with its owner's rights."""
    inner = shared / str(MALLORY) / "inner"
    inner.mkdir()
    os.chown(inner, ALICE, ALICE)

    with pytest.raises(UnsafeFileError, match="can exchange it"):
        as_owner(inner, ids)


def test_a_folder_of_root_that_others_write_to_is_refused(shared):
    """What lies there is not root's."""
    with pytest.raises(UnsafeFileError, match="may write there"):
        as_owner(shared, ids)


def test_work_that_never_ends_is_ended(shared):
    """Within its limit; and the caller gets an error."""
    begun = time.monotonic()
    with pytest.raises(OwnerWorkError, match="too long"):
        as_owner(shared / str(MALLORY), lambda: time.sleep(600), WorkLimits(0.5))

    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("in_thread", [False, True])
def test_work_ends_with_a_caller_that_is_killed(shared, in_thread):
    """Nothing of a killed command goes on with the owner's rights."""
    run = shared / str(ALICE)

    def work():
        (run / "pid").write_text(str(os.getpid()))
        time.sleep(50)

    def call():
        thread = threading.Thread(target=as_owner, args=(run, work))
        thread.start() if in_thread else as_owner(run, work)
        time.sleep(50)

    caller = forked(call)
    worker = int(_within(10, lambda: (run / "pid").exists() and (run / "pid").read_text()))
    os.kill(caller, signal.SIGKILL)
    os.waitpid(caller, 0)

    assert _within(10, lambda: not _is_running(worker))


def _within(seconds, value):
    """Return the value once it is true."""
    end = time.monotonic() + seconds
    while not (result := value()) and time.monotonic() < end:
        time.sleep(0.05)
    return result


def _is_running(pid):
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_errors_and_exits_come_back(shared):
    """As in this process."""
    run = shared / str(ALICE)
    with pytest.raises(FileNotFoundError) as error:
        as_owner(run, lambda: read_text(run / "none"))
    assert error.value.filename == str(run / "none")
    with pytest.raises(SystemExit) as left:
        as_owner(run, lambda: os.sys.exit(7))
    assert left.value.code == 7
    with pytest.raises(OwnerWorkError, match="ZeroDivisionError"):
        as_owner(run, lambda: 1 / 0)


@pytest.mark.parametrize("where", ["file", "folder", "run"])
def test_root_reads_no_file_of_root_by_a_users_link(shared, secret, where):
    """The link may stand for the file, a folder above it or the run."""
    run = shared / str(MALLORY)
    hidden = shared / "hidden"
    hidden.mkdir(mode=0o700)
    shutil.copy(secret, hidden / "file")
    path = {"file": run / "file", "folder": run / "events" / "file", "run": shared / "run" / "file"}[where]
    link = path if where == "file" else path.parent
    link.symlink_to(hidden / "file" if where == "file" else hidden)
    os.chown(link, MALLORY, MALLORY, follow_symlinks=False)

    with pytest.raises(UnsafeFileError):
        read_text(path)
    with pytest.raises(UnsafeFileError):
        read_text(path, inside=path.parent)
    assert list_folder(path.parent if where != "file" else run) == ([] if where != "file" else ["file"])


def test_root_follows_a_users_link_to_what_is_his_own(shared):
    """Run folders often are links to a larger disk."""
    (shared / str(ALICE) / "log").write_text("step 1")
    os.chown(shared / str(ALICE) / "log", ALICE, ALICE)
    (shared / "run").symlink_to(str(ALICE))
    os.chown(shared / "run", ALICE, ALICE, follow_symlinks=False)

    assert read_text(shared / "run" / "log") == "step 1"
    assert list_folder(shared / "run") == ["log"]


@pytest.mark.parametrize("trap", ["link", "dangling link", "pipe", "folder"])
def test_nothing_is_appended_to_what_is_no_file(shared, secret, trap):
    """And nothing is created where a link leads."""
    path = shared / "log"
    if trap == "pipe":
        os.mkfifo(path)
    elif trap == "folder":
        path.mkdir()
    else:
        path.symlink_to(secret if trap == "link" else shared / "new")

    with pytest.raises(OSError):  # noqa: PT011 (ELOOP, ENXIO or EISDIR)
        append(path, b"x")
    assert secret.read_text() == "secret of root"
    assert not (shared / "new").exists()


@pytest.mark.train
@pytest.mark.parametrize("forged", ["$(id > /tmp/ROOTED)", ["x"], None, "A" * 64])
def test_a_verification_by_root_writes_nothing_through_a_users_link(shared, forged):
    """A link to a folder that a login shell reads, and a checksum with a command."""
    profile = shared / "profile.d"
    profile.mkdir(mode=0o755)
    step = shared / str(MALLORY) / "run" / "checkpoints" / "step-00000010"
    step.mkdir(parents=True)
    (step / "manifest.json").write_text(json.dumps({"sha256": forged, "parts": []}))
    log = step.parent / "verified.jsonl"
    log.symlink_to(profile / "x.sh")
    for path in (step, step.parent, step.parents[1]):
        os.chown(path, MALLORY, MALLORY)

    report = run_checkpoints.answer(run_checkpoints.verify, str(step.parents[1]), step=None, everything=False)

    assert [row["state"] for row in report["checkpoints"]] == ["damaged"]
    assert not report["checkpoints"][0]["noted"]
    assert list(profile.iterdir()) == []
    log.unlink()
    run_checkpoints.answer(run_checkpoints.verify, str(step), step=None, everything=False)
    assert log.stat().st_uid == MALLORY
    assert json.loads(log.read_text())["manifest"] is None


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP])
def test_a_child_that_its_user_stops_is_killed_also_without_a_limit_of_time(shared, number):
    """A verification of checkpoints may take a day, and logs are followed to the end of their run."""
    begun = time.monotonic()

    with pytest.raises(OwnerWorkError, match="its user stopped it"):
        as_owner(shared / str(MALLORY), lambda: os.kill(os.getpid(), number))

    assert time.monotonic() - begun < 20


def test_a_child_that_its_user_stops_after_its_result_is_killed():
    """Its user can stop it between the end of its output and its own end."""
    child = forked(lambda: os.kill(os.getpid(), signal.SIGSTOP))
    begun = time.monotonic()

    assert os.WTERMSIG(as_owner_module._wait(child)) == signal.SIGKILL
    assert time.monotonic() - begun < 10


def test_a_child_that_the_kernel_cannot_end_is_left(shared, monkeypatch):
    """A file system of its user keeps a process that waits for it, also from SIGKILL."""
    kill, children = os.kill, []
    monkeypatch.setattr(as_owner_module.os, "kill", lambda child, _number: children.append(child))
    begun = time.monotonic()

    with pytest.raises(OwnerWorkError, match="cannot end it"):
        as_owner(shared / str(MALLORY), lambda: time.sleep(60), WorkLimits(seconds=0.5))
    kill(children[0], signal.SIGKILL)
    os.waitpid(children[0], 0)

    assert time.monotonic() - begun < 15
