"""A run's folder that a test fills with events."""

import json
import os
import subprocess
import sys

import pytest


class Told:
    """The folder, and what is done with it."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "events").mkdir(parents=True)
        self.record(
            {
                "name": "gpt",
                "nodes": 2,
                "arguments": {"steps": 9},
                "environment": {"variables": {"A_TOKEN": "s3cret-s3cret"}},
            }
        )

    def record(self, job):
        """What job.json says."""
        (self.folder / "job.json").write_text(json.dumps({"job": job}))

    def write(self, *events):
        """Events of rank 0."""
        lines = [json.dumps({"time": 1000.0 + number, **event}) + "\n" for number, event in enumerate(events)]
        with (self.folder / "events" / "rank-00000.jsonl").open("a") as file:
            file.writelines(lines)

    def steps(self, first, last, *, generation=1):
        """A generation's steps, each with a loss of its own."""
        plan = {"event": "plan", "step": first - 1, "total_steps": 9, "batch": 32, "generation": generation}
        rows = [
            {"event": "step", "step": step, "loss": 4.0 - step / 4, "seconds": 0.5, "busy": 0.5 * (step - first + 1),
             "waited": 0.05 * (step - first + 1), "tokens": 64, "lr": 0.1, "norm": 1.5, "generation": generation,
             "communicated": 0.1 * step, "communicated_of": 0.5 * step}
            for step in range(first, last + 1)
        ]  # fmt: skip
        self.write(plan, *rows)

    def end(self, **ended):
        """The run is over."""
        (self.folder / "finished.json").write_text("{}")
        (self.folder / "ended.json").write_text(json.dumps({"outcome": "finished", "code": 0, **ended}))

    def go_on(self):
        """Somebody submits it again."""
        for name in ("ended.json", "finished.json"):
            (self.folder / name).unlink()

    def track(self, name, **environ):
        """One tracker until it has ended: its exit code and what it said."""
        argv = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "clusterwright.onhost.trackers.follower",
            str(self.folder),
            name,
        ]
        clean = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("WANDB", "SWANLAB", "MLFLOW"))
        }
        environ = {**clean, "HOME": str(self.folder.parent), **environ}
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=200, check=False)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def told(tmp_path):
    """An empty run."""
    return Told(tmp_path / "gpt-20261122-120000")
