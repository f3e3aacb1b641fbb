import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright.config.job import Checkpoint, Job, Recovery, Warm
from clusterwright.launch.record import record

SOURCE = Path(__file__).parents[3] / "src"
COUNTING = Path(__file__).parent / "counting.py"


def write_record(folder, fields, *, time=0, **launch):
    """job.json of a local run of the job with these fields; a time limit may be shorter than a job file takes."""
    whole = json.loads(record(Job.model_validate(fields, strict=False), None, str(folder), 1.5))
    whole["job"]["time"] = time
    whole["launch"] |= launch
    folder.mkdir(exist_ok=True)
    (folder / "job.json").write_text(json.dumps(whole))


def _taken(fields, section):
    """Those of the section, which are then no longer among the fields."""
    return {name: fields.pop(name) for name in section.model_fields if name in fields}


class LocalRun:
    """A run of counting.py by the stand-in for Slurm, with local processes for hosts."""

    def __init__(self, folder):
        self.folder, self.process = folder, None

    def start(self, *, policy="successor", nodes=2, spares=0, steps=1000, pause=0.05, fail_at=0, **more):
        """Begin; `more` are fields of the job or of its sections, and of `launch`; it runs `script`, with `env`."""
        script, env, ranks = more.pop("script", COUNTING), more.pop("env", {}), more.pop("ranks", 2)
        fields = {
            "name": "counting", "command": [str(script), str(steps), str(pause), str(fail_at)], "time": "1d",
            "nodes": nodes, "gpus_per_node": ranks, "elastic": {"min_nodes": 1},
            "recovery": _taken(more, Recovery) | {"on_host_loss": policy, "spare_nodes": spares},
            "checkpoint": {"every": "5 steps"} | _taken(more, Checkpoint), "warm": _taken(more, Warm),
            "launcher": more.pop("launcher", "agent"),
        }  # fmt: skip
        write_record(self.folder, fields, imports=fields["warm"].get("imports", []), **more)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clusterwright.onhost.supervisor.local_scheduler", str(self.folder)],
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


@pytest.fixture(name="write_record")
def _write_record():
    """`write_record(folder, fields)`: job.json of a run of the job with these fields."""
    return write_record


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
