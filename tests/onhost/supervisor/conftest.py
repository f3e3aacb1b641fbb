import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"
COUNTING = Path(__file__).parent / "counting.py"


class LocalRun:
    """A run of counting.py by the stand-in for Slurm, with local processes for hosts."""

    def __init__(self, folder):
        self.folder, self.process = folder, None

    def start(self, *, policy="successor", nodes=2, spares=0, steps=1000, pause=0.05, fail_at=0, **more):
        """Begin; `more` are further options of the supervisor; `script` is what it runs, with `env`."""
        script, env = more.pop("script", COUNTING), more.pop("env", {})
        options = {
            "run": self.folder, "nodes": nodes, "ranks": 2, "spares": spares, "min-nodes": 1, "on-host-loss": policy,
            "silence": 3, "checkpoints": self.folder / "checkpoints", "every": "steps:5",
            "management": "127.0.0.0/8", "compute": "127.0.0.0/8",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }  # fmt: skip
        argv = [f"--{name}={value}" for name, value in options.items()]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clusterwright.onhost.supervisor.standin", *argv, "--local", "--",
             script, str(steps), str(pause), str(fail_at)],
            env={**os.environ, "PYTHONPATH": f"{SOURCE}:{self.folder.parent}", **env}, start_new_session=True,
        )  # fmt: skip
        return self

    def events(self, kind=None, **wanted):
        """Events so far, by time."""
        lines = [
            line for path in self.folder.glob("events/*.jsonl") for line in path.read_text().splitlines()
        ]
        found = sorted((json.loads(line) for line in lines), key=lambda event: event["time"])
        return [
            event for event in found
            if kind in (None, event["event"]) and all(event.get(name) == value for name, value in wanted.items())
        ]  # fmt: skip

    def until(self, seen, limit_s=150):
        """What `seen` returns, once it is something."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            found = seen()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"not seen within {limit_s} s; job.out:\n{self.said()}")

    def until_step(self, step, **wanted):
        """Wait for a step to be complete."""
        return self.until(lambda: [one for one in self.events("step", **wanted) if one["step"] >= step])

    def said(self):
        """What the supervisor said."""
        path = self.folder / "job.out"
        return path.read_text() if path.exists() else ""

    def finish(self):
        """Let the training reach its end soon, and wait; the exit code."""
        (self.folder / "enough").touch()
        return self.process.wait(timeout=150)

    def outcome(self):
        """How the run ended."""
        return json.loads((self.folder / "ended.json").read_text())

    def processes(self, text=""):
        """Process ids of this run, by its folder in the command line or in the environment."""
        mark, found = str(self.folder).encode(), []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in (os.getpid(), self.process.pid):
                try:
                    line, env = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
                except OSError:
                    continue
                if mark in line + env and text.encode() in line.replace(b"\0", b" "):
                    found.append(int(entry.name))
        return found


@pytest.fixture
def local_run(tmp_path):
    """A run that has not begun; whatever is left of it afterwards is ended."""
    yield from _local_run(tmp_path / "counting-20261121-120000")


@pytest.fixture
def other_run(tmp_path):
    """A second one, to compare with."""
    yield from _local_run(tmp_path / "other-20261121-120000")


def _local_run(folder):
    run = LocalRun(folder)
    run.folder.mkdir()
    yield run
    if run.process:
        for pid in [run.process.pid, *run.processes()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        run.process.wait()
