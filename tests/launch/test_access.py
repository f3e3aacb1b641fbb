"""Who reads a run: real accounts try every file of it."""

import grp
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from clusterwright.edge.fakes import FakeClock
from clusterwright.edge.processes import CommandResult
from clusterwright.launch.submission import resume, submit

OWNER, MEMBER, STRANGER = f"cw-owner-{os.getpid()}", 48_302, 48_303
WRIGHT = Path(sys.executable).with_name("wright")
TEAM = f"cw-share-{os.getpid()}"  # not the primary group of its members, as for a user of several teams
OTHER, MISSING = f"{TEAM}-other", f"{TEAM}-none"
READERS = {"member": MEMBER, "stranger": STRANGER}
TRAIN = """
import torch
from clusterwright import runtime

run = runtime.start()
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
run.track(model=model, optimizer=optimizer)
for _ in run.steps(total_steps=3):
    loss = model(torch.ones(1, 2)).sum()
    loss.backward()
    optimizer.step()
    run.step(loss)
"""
SBATCH = """#!/bin/sh
echo one > slurm-123.out
mkdir -p logs/1/host && echo one > logs/1/host/0.out
echo 123
"""
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user"),
    pytest.mark.timeout(200),
]


def account(uid):
    """Options of a process of this account; all but the stranger are members of the team."""
    groups = [] if uid == STRANGER else [grp.getgrnam(TEAM).gr_gid]
    return {"user": uid, "group": uid, "extra_groups": groups, "cwd": "/"}


@pytest.fixture(scope="module", autouse=True)
def _accounts():
    with ExitStack() as made:
        for group in (TEAM, OTHER):
            subprocess.run(["groupadd", group], check=True)
            made.callback(subprocess.run, ["groupdel", group], check=True)
        subprocess.run(["useradd", "--no-create-home", "--user-group", OWNER], check=True)
        made.callback(subprocess.run, ["userdel", OWNER], check=True)
        yield


@pytest.fixture
def shared():
    """A folder like /shared, which every account reaches, with `runs` and the owner's home."""
    path = Path(tempfile.mkdtemp(prefix="cw-share-", dir="/tmp"))
    path.chmod(0o755)
    (path / "runs").mkdir()
    (path / "runs").chmod(0o1777)
    (path / "home").mkdir()
    shutil.chown(path / "home", OWNER, OWNER)
    yield path
    shutil.rmtree(path)


class Accounts:
    """A Remote on this machine, as the owner."""

    def __init__(self, programs):
        self.path = f"{programs}:{os.environ['PATH']}"

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """Run by sh, as sshd does by the login shell."""
        done = subprocess.run(
            ["sh", "-c", command], input=stdin, capture_output=True, check=False, timeout=timeout_s,
            env={**os.environ, "PATH": self.path}, umask=0o022, **account(OWNER),
        )  # fmt: skip
        return CommandResult((), done.returncode, done.stdout.decode(), done.stderr.decode(), 0.0)


@pytest.fixture
def remote(shared):
    """A control host whose sbatch writes what Slurm and a rank write, with the umask of the submission."""
    (shared / "bin").mkdir()
    (shared / "bin/sbatch").write_text(SBATCH)
    (shared / "bin/sbatch").chmod(0o755)
    return Accounts(shared / "bin")


@pytest.fixture
def here(cluster, shared):
    """The example's cluster with its shared folder in ours, and teams of which one has no group here."""
    folder = cluster.storage["shared"].model_copy(update={"path": str(shared)})
    teams = dict.fromkeys((TEAM, OTHER, MISSING), next(iter(cluster.teams.values())))
    return cluster.model_copy(update={"storage": {"shared": folder}, "teams": teams})


def files(run):
    """All files of a run that are no secrets of its own."""
    paths = [path for path in sorted(run.rglob("*")) if path.is_file() and not path.is_symlink()]
    return [path for path in paths if path.name != "token" and path.parent.name != "chain"]


def readable(uid, paths):
    """Those of the files that the account reads."""
    script = 'for path; do cat "$path" >/dev/null 2>&1 && echo "$path"; done; true'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *paths], capture_output=True, text=True, check=True, **account(uid)
    )
    return [Path(line) for line in done.stdout.splitlines()]


def who_reads(run):
    """The accounts that read all files of the run; each other account reads none, by folder and by mode."""
    paths, able = files(run), set()
    hidden = ~run.stat().st_mode & 0o777
    assert [path for path in paths if path.stat().st_mode & hidden] == []
    for name, uid in READERS.items():
        read = readable(uid, paths)
        assert read in ([], paths)
        able |= {name} if read else set()
        writes = ["sh", "-c", 'echo x >> "$0"', str(run / "job.json")]
        assert subprocess.run(writes, check=False, capture_output=True, **account(uid)).returncode
    return able


CASES = pytest.mark.parametrize(
    ("share", "readers"),
    [({"share": "me"}, set()), ({}, {"member"}), ({"share": "everyone"}, {"member", "stranger"})],
    ids=["me", "team", "everyone"],
)


def written(run, *names):
    """Nothing is missing among the files whose readers are tested."""
    assert set(names) <= {str(path.relative_to(run)) for path in files(run)}


@CASES
def test_a_submitted_run(here, remote, shared, a_job, share, readers):
    """Its job file, script and code, Slurm's output and logs; also after it was resumed."""
    code = shared / "code"
    code.mkdir()
    (code / "train.py").write_text("print(1)\n")
    job = a_job(recipe=None, command=["train.py"], code={"folder": str(code)}, team=TEAM, **share)
    run = Path(submit(job, here, remote, clock=FakeClock()).folder)

    written(run, "job.json", "job.sh", "jobs", "code/train.py", "slurm-123.out", "logs/1/host/0.out")
    assert who_reads(run) == readers
    resume(run.name, here, remote)
    assert who_reads(run) == readers


@CASES
def test_the_runs_of_an_array(here, remote, shared, a_job, share, readers):
    """The folder of the array and those of its runs."""
    code = shared / "code"
    code.mkdir()
    (code / "train.py").write_text("print(1)\n")
    fields = {"recipe": None, "command": ["train.py"], "code": {"folder": str(code)}, "array": "0-1"}
    made = submit(a_job(**fields, team=TEAM, **share), here, remote, clock=FakeClock())

    for name in made.runs:
        written(shared / "runs" / name, "job.json", "job.sh", "jobs")
        assert who_reads(shared / "runs" / name) == readers
        assert who_reads(Path(made.folder)) == readers


@pytest.mark.train
@CASES
def test_a_real_run(shared, share, readers):
    """The job file, code, logs, events and checkpoints of a training on this machine, which root may give any group."""
    home = shared / "home"
    (home / "train.py").write_text(TRAIN)
    job = {
        "name": "own", "command": ["train.py"], "code": {"folder": "."}, "time": "5m", "team": TEAM,
        "checkpoint": {"every": "1 steps"}, **share,
    }  # fmt: skip
    (home / "job.yaml").write_text(json.dumps(job))
    argv = [WRIGHT, "train", home / "job.yaml", "--local", "--out", shared / "runs"]
    done = subprocess.run(argv, umask=0o022, timeout=150, check=False, capture_output=True, text=True)
    (run,) = (shared / "runs").iterdir()

    assert done.returncode == 0, done.stdout + done.stderr
    written(run, "job.json", "job.sh", "job.out", "code/train.py", "checkpoints/step-00000001/manifest.json")
    assert {path.parent.name for path in files(run)} >= {"events", "code", "step-00000001"}
    assert who_reads(run) == readers


def test_without_a_group_of_the_team_the_primary_group_reads(here, remote, a_job):
    """A group that does not exist here, or that the user is not in, gives nobody access."""
    for team in (MISSING, OTHER):
        run = Path(submit(a_job(team=team), here, remote, clock=FakeClock()).folder)
        assert run.group() == OWNER
        assert who_reads(run) == set()
        shutil.rmtree(run)


def test_a_run_of_an_older_version_keeps_its_readers(here, remote, a_job):
    """What is written after it is resumed has the readers of its folder."""
    run = Path(submit(a_job(share="me"), here, remote, clock=FakeClock()).folder)
    for path in (run, *run.rglob("*")):
        path.chmod(0o755)
    resume(run.name, here, remote)

    assert who_reads(run) == {"member", "stranger"}
