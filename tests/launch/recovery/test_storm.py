"""Ranks are killed again and again in one training; the long storms are bench/resilience/storm.py."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]

STORMY = Path(__file__).parent / "stormy.py"
WRIGHT = Path(sys.executable).with_name("wright")
KILLS, STEPS = 6, 160


class Training:
    """A run of stormy.py on this machine, two ranks, started as a user starts it."""

    def __init__(self, folder):
        job = {
            "name": "stormy", "command": [str(STORMY)], "gpus_per_node": 2, "time": "10m",
            "checkpoint": {"every": "1000 steps", "memory": "1 step"},
            "recovery": {"heartbeat_timeout": "30s"},  # no host is lost here: a busy machine is no failure
        }  # fmt: skip
        folder.mkdir()
        (folder / "job.yaml").write_text(json.dumps(job))
        self.folder = folder
        self.process = subprocess.Popen(
            [WRIGHT, "train", folder / "job.yaml", "--local", "--out", folder],
            env={**os.environ, "STORMY_STEPS": str(STEPS), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def read(self, name):
        """A file of the run; empty while it is not there."""
        found = [path.read_text() for path in self.folder.glob(f"stormy-*/{name}")]
        return found[0] if found else ""

    def losses(self, rank):
        """Step and loss, in the order in which they came."""
        return [tuple(line.split()) for line in self.read(f"losses-{rank}").splitlines()]

    def newest(self):
        """The highest step so far."""
        return max((int(step) for rank in (0, 1) for step, _ in self.losses(rank)), default=0)

    def until_beyond(self, step, limit_s=150):
        """Wait for a higher step."""
        end = time.monotonic() + limit_s
        while self.newest() <= step:
            assert time.monotonic() < end, f"no step beyond {step}:\n{self.read('job.out')}"
            assert self.process.poll() is None, self.read("job.out")
            time.sleep(0.01)

    def cancel(self):
        """End it, if a test failed before it did."""
        for folder in self.folder.glob("stormy-*"):
            (folder / "cancelled").touch()
        self.process.wait(timeout=150)


@pytest.fixture
def two_trainings(tmp_path):
    """The same training twice, at once: one for the storm, one undisturbed."""
    trainings = [Training(tmp_path / name) for name in ("storm", "calm")]
    yield trainings
    for each in trainings:
        each.cancel()


def test_a_storm_of_kills_changes_no_bit(two_trainings):
    """Six ranks are killed, each at a random moment; all losses and weights are those of the undisturbed training."""
    storm, calm = two_trainings
    dice = random.Random(20261121)
    for _ in range(KILLS):
        storm.until_beyond(storm.newest() + dice.randrange(8))
        time.sleep(dice.random() * 0.05)
        os.kill(int(storm.read(f"pid-{dice.randrange(2)}")), signal.SIGKILL)
        storm.until_beyond(storm.newest() + 1)  # whatever was on its way when it died

    assert (storm.process.wait(timeout=150), calm.process.wait(timeout=150)) == (0, 0), storm.read("job.out")
    for rank in (0, 1):
        expected = dict(calm.losses(rank))
        assert sorted(map(int, expected)) == list(range(1, STEPS + 1))
        assert dict(storm.losses(rank)).keys() == expected.keys()
        assert [loss for step, loss in storm.losses(rank) if loss != expected[step]] == []
        assert storm.read(f"weights-{rank}") == calm.read(f"weights-{rank}") != ""
    assert "lost local1" not in storm.read("job.out"), storm.read("logs/agents.log")  # its agent lives on
    restored = [json.loads(line) for line in storm.read("events/rank-00000.jsonl").splitlines()]
    sources = [each["source"] for each in restored if each["event"] == "restored"]
    assert len(sources) >= KILLS
    assert set(sources) == {"memory"}
