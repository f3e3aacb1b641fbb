"""A cluster on this machine with a hostile user: ssh and Slurm's programs are fakes, accounts are real."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.mallory.runner import PATIENCE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MALLORY, VICTIM = 64001, 64002
SECRET = "root-only-Zt5vQ9"  # pragma: allowlist secret
SSH = '#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done\nshift 2\nexec sh -c "$*"\n'
SLURM = (
    "squeue",
    "scontrol",
    "scancel",
    "sacct",
    "sshare",
    "sinfo",
    "sacctmgr",
    "sstat",
    "sprio",
    "srun",
    "sbatch",
)
LIMIT_S = 40  # of processor time


class Cluster:
    """Folders, the names of mallory's runs, and a process of another user."""

    def __init__(self, base):
        self.base, self.runs, self.private, self.out = base, base / "shared/runs", base / "root", base / "out"
        self.file, self.programs, self.secret = base / "cluster.yaml", base / "bin", base / "root/secret"
        self.victim = _sleep()
        self.names = []

    @property
    def named(self):
        """The runs that a command names; those without a job.json are met by `jobs` and `top`, which read them all."""
        return [name for name in self.names if "-0-" not in name]

    def environment(self):
        """The administrator's environment."""
        path = f"{self.programs}:{os.environ['PATH']}"
        texts = {"VICTIM_PID": str(self.victim.pid), "JOB_NAME": self.names[0], "LC_ALL": "C.UTF-8"}
        return os.environ | texts | {"PATH": path, "CLUSTERWRIGHT_CLUSTER": str(self.file)}

    def wright(self, *lines):
        """Run command lines as root, in a folder of its own; return their results."""
        return run_lines(lines, self.out, self.environment())

    def outside(self):
        """Everything that a command against mallory's runs leaves as it is: what is root's and what is the victim's."""
        folders = (self.private, self.base / "victim", self.out, self.base / "shared/other")
        paths = [path for folder in folders for path in sorted(folder.rglob("*"))]
        return {str(path): (path.lstat().st_mode, path.lstat().st_uid, _content(path)) for path in paths}


def run_lines(lines, folder, environment, limit_s=LIMIT_S):
    """Run command lines of `wright` one after another; return their results."""
    done = subprocess.run(
        [sys.executable, str(HERE / "runner.py"), str(limit_s)], input=json.dumps(lines), capture_output=True,
        text=True, check=False, cwd=folder, env=environment, timeout=PATIENCE * limit_s * len(lines) + 60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _sleep():
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    return subprocess.Popen(["sleep", "3600"], user=VICTIM, group=VICTIM, extra_groups=[], **quiet)


def _content(path):
    return path.read_bytes() if path.is_file() and not path.is_symlink() else b""


@pytest.fixture(scope="session")
def cluster(pytestconfig):
    """The cluster, with mallory's folders written by mallory's account."""
    if os.geteuid() != 0:
        pytest.skip("another account needs root")
    base = Path(tempfile.mkdtemp(prefix="cw-mallory-", dir="/srv"))
    base.chmod(0o755)
    built = _built(base)
    try:
        yield built
    finally:
        built.victim.kill()
        built.victim.wait()
        shutil.rmtree(base)


def _built(base):
    for name in ("root", "victim", "out", "bin", "shared/runs", "shared/other"):
        (base / name).mkdir(parents=True)
    (base / "root").chmod(0o700)
    (base / "shared/runs").chmod(0o1777)
    (base / "root/secret").write_text(f'{{"secret": "{SECRET}", "event": "{SECRET}"}}\n{SECRET}\n')
    (base / "root/secret").chmod(0o600)
    (base / "bin/ssh").write_text(SSH)
    program = f"#!/usr/bin/env python3\n{(HERE / 'slurm.py').read_text()}"
    for name in SLURM:
        (base / "bin" / name).write_text(program)
    for path in (base / "bin").iterdir():
        path.chmod(0o755)
    example = (ROOT / "examples/lab/cluster.yaml").read_text().partition("\nlab:\n")[0]
    (base / "cluster.yaml").write_text(example.replace("path: /shared}", f"path: {base}/shared}}"))
    made = Cluster(base)
    script = (
        HERE / "hostile.py"
    ).read_text() + f"\nwrite_runs(Path({str(made.runs)!r}), Path({str(made.secret)!r}))\n"
    subprocess.run(
        ["python3", "-"],
        input=script,
        text=True,
        check=True,
        user=MALLORY,
        group=MALLORY,
        extra_groups=[],
        cwd="/",
    )
    made.names = sorted(path.name for path in made.runs.iterdir())
    return made


@pytest.fixture
def victim(cluster):
    """Another user's process, which no command ends."""
    yield cluster.victim
    if cluster.victim.poll() is not None:
        cluster.victim = _sleep()
