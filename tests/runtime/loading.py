"""A training whose data comes through workers, with transformations that draw; it logs what it was fed.

TOY_WORKERS=N; TOY_PERSISTENT=1 keeps them; TOY_KILL=RANK:STEP kills a rank, TOY_TERM=RANK:STEP sends SIGTERM to it and
all its children, as Slurm does, and again while it saves. TOY_STREAM=1 feeds it from a stream with a state.
"""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from clusterwright import runtime

SAMPLES = 23


def wait_for_saves():
    """The last save that was due is on disk; there may be none."""
    every = int(os.environ["CLUSTERWRIGHT_CHECKPOINT_EVERY"].partition(":")[2])
    due = run.completed // every * every
    while due and not (run.folder / "checkpoints" / f"step-{due:08d}").exists():
        time.sleep(0.01)


def target(name):
    """Rank and number out of `RANK:NUMBER`; what nothing reaches when it is not set."""
    return tuple(int(word) for word in os.environ.get(name, "-1:-1").split(":"))


def children():
    """The processes that this one has started."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


class Drawn(Dataset):
    """Each sample is its number, and what was drawn for it from three sources."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        drawn = [random.random(), np.random.mtrand._rand.rand(), float(torch.rand(()))]
        return torch.tensor([float(number), *drawn], dtype=torch.float64)


class Stream(IterableDataset):
    """Numbers without end, each rank its own, with a position."""

    def __init__(self):
        self.next = 1000 * run.rank

    def __iter__(self):
        while True:
            self.next += 1
            yield torch.tensor([float(self.next), 0.0, 0.0, 0.0], dtype=torch.float64)

    def state_dict(self):
        """Where it is."""
        return {"next": self.next}

    def load_state_dict(self, state):
        """Go there."""
        self.next = state["next"]


class Nervous:
    """Sends its rank a second SIGTERM while it is being saved."""

    def state_dict(self):
        """Nothing, and the signal."""
        if asked:
            os.kill(os.getpid(), signal.SIGTERM)
        return {}

    def load_state_dict(self, state):
        """Nothing was saved."""


asked = []
run = runtime.start(seed=3)
run.track(nervous=Nervous())
if os.environ.get("TOY_STREAM"):
    loader = DataLoader(Stream(), batch_size=4, num_workers=int(os.environ.get("TOY_WORKERS", "0")))
else:
    loader = DataLoader(
        runtime.Reproducible(Drawn(), seed=9),
        batch_sampler=runtime.Sampler(SAMPLES, batch=8, seed=5),
        num_workers=int(os.environ.get("TOY_WORKERS", "0")),
        persistent_workers=bool(os.environ.get("TOY_PERSISTENT")),
    )
fed = (run.folder / f"fed-{run.rank}").open("a")

for batch in run.steps(loader, total_steps=int(os.environ.get("TOY_UNTIL", "12"))):
    run.step(float(batch.sum()) + random.random() + float(torch.rand(())))
    for number, *drawn in batch.tolist():
        print(run.completed, int(number), *map(float.hex, drawn), file=fed)
    fed.flush()
    if (run.rank, run.completed) == target("TOY_KILL"):
        wait_for_saves()
        os.kill(os.getpid(), signal.SIGKILL)
    if (run.rank, run.completed) == target("TOY_TERM"):
        asked.append(run.completed)
        everyone = [str(pid) for pid in [*children(), os.getpid()]]
        subprocess.run(["kill", "-TERM", *everyone], check=True)  # from outside, as Slurm's own would come
run.finish()
