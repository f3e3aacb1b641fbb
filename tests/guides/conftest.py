"""Run command lines in this process, as a user does in an empty folder."""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright.cli import main
from clusterwright.i18n import set_language

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def wright(tmp_path, monkeypatch):
    """Run a command with this text on stdin; no cluster file but those in the folder, English output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "200")

    def call(argv, stdin=""):
        streams = {"stdin": stdin, "stdout": "", "stderr": ""}
        with monkeypatch.context() as patch:
            for name, text in streams.items():
                streams[name] = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
                patch.setattr(sys, name, streams[name])
            patch.setattr(sys, "argv", ["wright", *argv])
            with pytest.raises(SystemExit) as ended:
                main()
            for name in ("stdout", "stderr"):
                sys.__dict__[name].flush()
        texts = [streams[name].buffer.getvalue().decode() for name in ("stdout", "stderr")]
        set_language("en")
        return Ended(ended.value.code, *texts)

    return call


@pytest.fixture
def wright_process(tmp_path):
    """Run a command that starts processes of its own, in a process."""

    def call(argv, limit_s):
        done = subprocess.run(
            [sys.executable, "-m", "clusterwright", *argv],
            cwd=tmp_path,
            env=os.environ | {"LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def tests_by_path():
    """Return a function: the ids of the tests that pytest collects of each path, file or folder or FILE::FUNCTION."""

    def collect(paths):
        files = sorted({path.partition("::")[0] for path in paths})
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "--collect-only",
                "-q",
                "-p",
                "no:randomly",
                "-p",
                "no:xdist",
                *files,
            ],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:]
        ids = [line for line in done.stdout.splitlines() if "::" in line]
        return {path: [one for one in ids if is_of(one, path)] for path in paths}

    return collect


def is_of(test, path):
    """Return whether the id of a test belongs to the path."""
    return any(test == path or test.startswith(path + end) for end in ("[", "/", "::"))
