"""Trainings on a lab, in which much has a state."""

import contextlib
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.events import RemoteReader, events, wait
from clusterwright.launch.submission import submit

STORMY = Path(__file__).parent / "stormy.py"


class Training:
    """stormy.py on the lab, which saves nothing before its end, but copies its state after each step."""

    def __init__(self, where):
        self.where, self.run = where, None
        self.there = RemoteReader(where.remote, where.cluster.control.name)

    def submit(self, steps=150, **fields):
        """Two hosts with one rank each."""
        job = {
            "name": "memory", "command": [f"{self.where.cluster.shared_folder}/stormy.py"], "nodes": 2, "time": "10m",
            "user": "alice", "environment": {"variables": {"STORMY_STEPS": str(steps)}},
            "checkpoint": {"every": "100000 steps", "memory": "1 step"}, **fields,
        }  # fmt: skip
        self.run = submit(Job.model_validate(job, strict=False), self.where.cluster, self.where.remote)
        return self

    def events(self, kind, **wanted):
        """Events of one kind so far."""
        return [
            one
            for one in events(self.run, self.there)
            if one["event"] == kind and all(one.get(key) == value for key, value in wanted.items())
        ]

    def until(self, kind, seen=bool, limit_s=200, **wanted):
        """Events of the kind, once `seen` likes them."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            with contextlib.suppress(WrightError):  # a busy machine does not answer every ssh in time
                found = self.events(kind, **wanted)
                if seen(found):
                    return found
            time.sleep(0.3)
        raise AssertionError(f"no {kind} {wanted} within {limit_s} s:\n{self.said()}")

    def until_step(self, step):
        """Wait until it is complete."""
        self.until("step", lambda found: found and found[-1]["step"] >= step)

    def said(self):
        """What supervisors, agents and Slurm said."""
        run = self.run.folder
        return self.where.remote.run(
            "control", f"tail -n 40 {run}/slurm-*.out {run}/logs/agents.log; sinfo -N"
        ).out

    def losses(self):
        """The exact losses of each step, as often as it was done."""
        losses = {}
        for event in self.events("step"):
            losses.setdefault(event["step"], set()).add(event["loss_hex"])
        return losses

    def cancel(self):
        """A person wants no more of it."""
        self.where.sh("control", f"touch {self.run.folder}/cancelled")
        assert wait(self.run, self.there, limit_s=200).outcome == "cancelled", self.said()

    def finish(self):
        """Its end."""
        end = wait(self.run, self.there, limit_s=200)
        assert end.outcome == "finished", self.said()


@pytest.fixture
def training(lab_cluster):
    """All hosts up and idle; whatever was submitted is over afterwards."""
    made = []
    lab_cluster.rest()
    lab_cluster.sh(
        "control", f"cat > {lab_cluster.cluster.shared_folder}/stormy.py <<'END'\n{STORMY.read_text()}\nEND"
    )

    def submit(*steps, **fields):
        made.append(Training(lab_cluster).submit(*steps, **fields))
        return made[-1]

    yield submit
    for each in made:
        lab_cluster.remote.run(
            "control", f"touch {each.run.folder}/cancelled; scancel --name={each.run.name}"
        )
    lab.undo(lab_cluster.cluster.name, "all")
