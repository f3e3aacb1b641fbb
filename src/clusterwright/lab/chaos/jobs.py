"""The trainings that are hurt; pure."""

from __future__ import annotations

from typing import Any

from clusterwright.config.job import Job
from clusterwright.lab.chaos.kind import Kind

STEPS, EVERY = 80, 10
PROGRAM = "campaign-breaks.py"  # in the shared folder
HOPELESS = 1e12  # a learning rate


def calm(shared: str, user: str | None) -> Job:
    """The training to which nothing happens."""
    return _job("", shared, user, "campaign-calm")


def job(kind: Kind, shared: str, user: str | None, number: int) -> Job:
    """The training under which a fault of that kind is planted, or which is the fault."""
    return _job(kind.program, shared, user, f"campaign-{number}")


def _job(program: str, shared: str, user: str | None, name: str) -> Job:
    """Two hosts and a third held ready."""
    rows: dict[str, Any] = {
        "name": name, "nodes": 2, "gpus_per_node": 1, "time": "30m", "user": user,
        "recovery": {"on_host_loss": "spare", "spare_nodes": 1},
        "checkpoint": {"every": f"{EVERY} steps", "keep": 3},
    }  # fmt: skip
    if program in ("exception", "memory"):
        rows |= {"command": [f"{shared}/{PROGRAM}", program]}
    else:
        arguments: dict[str, float] = {"steps": STEPS, "text_bytes": 100_000}
        rows |= {"recipe": "gpt", "arguments": arguments | ({"learning_rate": HOPELESS} if program else {})}
    return Job.model_validate(rows, strict=False)
