import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.config.job import Job
from clusterwright.config.load import load_cluster
from clusterwright.edge.bundler import RUNS, bundle_script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def cluster():
    """The lab of the examples."""
    return load_cluster(ROOT / "examples" / "lab" / "cluster.yaml")


@pytest.fixture(scope="session")
def a_job():
    """A job with the fields that a test cares about."""

    def make(**fields):
        return Job.model_validate({"name": "gpt", "recipe": "gpt", "time": "30m", **fields}, strict=False)

    return make


@pytest.fixture
def runs(tmp_path):
    """Two runs: an older one that has ended, and one that is under way since its second job."""
    for name in ("old-20261120-100000", "new-20261121-100000"):
        for folder in ("events", "checkpoints", "chain", "logs/1/gpu-node1/r_x/attempt_0/0"):
            (tmp_path / name / folder).mkdir(parents=True)
        (tmp_path / name / "job.json").write_text('{"local": true}')
    old, new = tmp_path / "old-20261120-100000", tmp_path / "new-20261121-100000"
    (old / "ended.json").write_text(
        json.dumps({"outcome": "no-progress", "code": 4, "reason": "again and again"})
    )
    (old / "jobs").write_text("7\n")
    (new / "jobs").write_text("8\n")
    (new / "chain" / "1").write_text("8")
    (new / "chain" / "2").write_text("9")
    (new / "chain" / "handover-8").write_text("gpu-node2")
    (new / "checkpoints" / "step-00000025").mkdir()
    lines = [{"time": 1, "event": "step", "step": 30}, {"time": 2, "event": "checkpoint", "step": 25}]
    (new / "events" / "rank-0.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines) + '{"torn'
    )
    return tmp_path


@pytest.fixture
def start_far():
    """Begin as ssh does: the text on stdin."""

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-u", "-", *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "PATH": "/nonexistent"},
        )  # fmt: skip
        process.stdin.write(bundle_script(RUNS))
        process.stdin.close()
        process.stdin = None
        return process

    return start


@pytest.fixture
def done_far(start_far):
    """Begin and wait: exit code, stdout, stderr."""

    def done(*arguments):
        process = start_far(*arguments)
        out, err = process.communicate(timeout=150)
        return process.returncode, out.decode(), err.decode()

    return done
