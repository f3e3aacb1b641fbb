"""A training that uses everything that has a state, and dies where the environment says so.

TOY_KILL=RANK:STEP kills a rank after a step; TOY_KILL_SAVE=RANK:N at its n-th fsync or rename of a folder;
TOY_SIGNAL=RANK:STEP sends it SIGTERM; TOY_STOP=STEP makes the stop file; TOY_UNTIL is the last step,
TOY_BATCH the batch of all ranks, TOY_PACE the least time of a step in seconds.
"""

import hashlib
import os
import random
import signal
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from clusterwright import runtime

SAMPLES = 37  # not a multiple of the batch: epochs end inside steps


def target(name):
    """Rank and number out of `RANK:NUMBER`; what nothing reaches when it is not set."""
    return tuple(int(word) for word in os.environ.get(name, "-1:-1").split(":"))


def die_in_save(rank):
    """Be killed at the n-th time that something is made durable."""
    doomed, number = target("TOY_KILL_SAVE")
    left = [number]

    def counting(act, counts=lambda _path: True):
        def wrapped(path, *arguments, **named):
            left[0] -= counts(path)
            if left[0] == 0 and counts(path):
                os.kill(os.getpid(), signal.SIGKILL)
            return act(path, *arguments, **named)

        return wrapped

    if rank == doomed:
        os.fsync = counting(os.fsync)
        os.replace = counting(os.replace, lambda path: os.path.isdir(path) and not os.path.islink(path))


def wait_for_saves():
    """The last save that was due is on disk; there may be none."""
    every = int(os.environ["CLUSTERWRIGHT_CHECKPOINT_EVERY"].partition(":")[2])
    due = run.completed // every * every
    while due and not (run.folder / "checkpoints" / f"step-{due:08d}").exists():
        time.sleep(0.01)


run = runtime.start(seed=3)
die_in_save(run.rank)
model = nn.Sequential(
    nn.Linear(6, 600), nn.BatchNorm1d(600), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 1),
)  # fmt: skip
parallel = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=5)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)
run.track(model=parallel, optimizer=optimizer, scheduler=scheduler, scaler=scaler)
inputs = torch.randn(SAMPLES, 6, generator=torch.Generator().manual_seed(0))
sampler = runtime.Sampler(SAMPLES, batch=int(os.environ.get("TOY_BATCH", "8")), seed=5)
seen = (run.folder / f"seen-{run.rank}").open("a")

for numbers in run.steps(sampler, total_steps=int(os.environ.get("TOY_UNTIL", "12"))):
    x = inputs[numbers]
    y = x.sum(1) + random.random() + np.random.mtrand._rand.rand()  # the state that np.random.seed seeds
    loss = F.mse_loss(parallel(x).squeeze(1), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    time.sleep(float(os.environ.get("TOY_PACE", "0")))
    run.step(loss)
    print(run.completed, *numbers, file=seen, flush=True)
    if (run.rank, run.completed) == target("TOY_KILL"):
        wait_for_saves()
        os.kill(os.getpid(), signal.SIGKILL)
    if (run.rank, run.completed) == target("TOY_SIGNAL"):
        os.kill(os.getpid(), signal.SIGTERM)
    if run.rank == 0 and str(run.completed) == os.environ.get("TOY_STOP"):
        (run.folder / "stop").touch()

weights = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.state_dict().values()))
(run.folder / f"weights-{run.rank}").write_text(weights.hexdigest())
run.finish()
