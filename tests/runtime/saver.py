"""Saves step after step, each with a state that the step alone decides, until it is killed or done.

SAVER_KILL=RANK:N kills a rank at its N-th call that changes something on disk; SAVER_LIMIT=RANK:STEP lets no file of
that rank grow beyond a few bytes while it saves that step. Rank 0 writes the steps that are on disk into `durable`, and
into `failed` which are not and why, as each rank sees it.
"""

import os
import resource
import signal
from pathlib import Path

import torch

from clusterwright.runtime import group
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints

STEPS = 4
CHANGES = [
    (os, "write"),
    (os, "fsync"),
    (os, "replace"),
    (Path, "mkdir"),
    (os, "symlink"),
]


def target(name):
    """Two numbers, which nothing reaches when they are not given."""
    return tuple(int(word) for word in os.environ.get(name, "-1:-1").split(":"))


def state_of(step):
    """Two large tensors, one for each of two ranks, a small one, and numbers."""
    generator = torch.Generator().manual_seed(step)
    large = {name: torch.randn(300_000, generator=generator) for name in ("a", "b")}
    return {
        "model": {**large, "small": torch.full((3,), float(step))},
        "run": {"step": step, "list": [1, 2.5, None]},
    }


def deadly(act, left):
    """The same act, unless it is its turn."""

    def wrapped(*arguments, **named):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments, **named)

    return wrapped


def main():
    """One rank."""
    joined = group.join()
    folder = Path(os.environ["CLUSTERWRIGHT_RUN"])
    checkpoints = Checkpoints(folder / "checkpoints", joined, save_total_limit=2)
    checkpoints.newest()
    victim, number = target("SAVER_KILL")
    if joined.rank == victim:
        left = [number]
        for owner, name in CHANGES:
            setattr(owner, name, deadly(getattr(owner, name), left))
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    for step in range(1, STEPS + 1):
        limited = (joined.rank, step) == target("SAVER_LIMIT")
        state = state_of(step)
        if limited:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, unlimited[1]))
        checkpoints.save(step, state, {"rank": joined.rank})
        for tensor in state["model"].values():
            tensor.zero_()  # training goes on
        saved = checkpoints.wait()
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        if saved.reason:
            with (folder / f"failed-{joined.rank}").open("a") as file:
                file.write(f"{step} {saved.reason}\n")
        elif joined.rank == 0:
            with (folder / "durable").open("a") as file:
                file.write(f"{step}\n")
    checkpoints.close()
    joined.destroy()


if __name__ == "__main__":
    main()
