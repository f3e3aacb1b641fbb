"""A training with evaluations that take long, and steps that may.

TOY_BATCHES is how many batches of 50 ms an evaluation has, TOY_STEP_S how long a step takes; TOY_EVALUATE=RANK lets
one rank evaluate alone. TOY_SIGNAL=RANK:STEP sends a rank SIGTERM, in the evaluation after a step or, with
TOY_STEP_S, in it. TOY_PRECISION is the run's; TOY_KILL=RANK:STEP kills a rank.
"""

import os
import signal
import time

import torch
from torch import nn

from clusterwright import runtime


def wait_for_saves():
    """The last save that was due is on disk; there may be none."""
    every = int(os.environ["CLUSTERWRIGHT_CHECKPOINT_EVERY"].partition(":")[2])
    due = run.completed // every * every
    while due and not (run.folder / "checkpoints" / f"step-{due:08d}").exists():
        time.sleep(0.01)


def target(name):
    """Rank and number out of `RANK:NUMBER`; what nothing reaches when it is not set."""
    return tuple(int(word) for word in os.environ.get(name, "-1:-1").split(":"))


def signal_if(step):
    """SIGTERM, if this is the rank and the step."""
    if (run.rank, step) == target("TOY_SIGNAL"):
        os.kill(os.getpid(), signal.SIGTERM)


run = runtime.start(seed=3, precision=os.environ.get("TOY_PRECISION", "auto"))
model = nn.Sequential(nn.Linear(6, 30), nn.Dropout(0.3), nn.Linear(30, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
scaler = run.scaler
run.track(model=model, optimizer=optimizer)
step_s = float(os.environ.get("TOY_STEP_S", "0"))
alone = int(os.environ.get("TOY_EVALUATE", "-1"))
inputs = torch.randn(64, 6, generator=torch.Generator().manual_seed(0))

for numbers in run.steps(
    runtime.Sampler(64, batch=8, seed=5), total_steps=int(os.environ.get("TOY_UNTIL", "9"))
):
    if step_s:
        time.sleep(step_s)
        signal_if(run.completed + 1)
    for piece in run.accumulate(numbers, 3):
        with run.autocast():
            loss = model(inputs[piece]).square().sum() / len(numbers)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = run.clip(model, 1.0)
    if run.finite(loss, norm):
        scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    run.step(loss, tokens=48)
    if (run.rank, run.completed) == target("TOY_KILL"):
        wait_for_saves()
        os.kill(os.getpid(), signal.SIGKILL)
    if run.completed % 3 == 0 and alone in (-1, run.rank) and not step_s:
        with run.pause("evaluation") as pause:
            signal_if(run.completed)
            for _ in pause.over(range(int(os.environ.get("TOY_BATCHES", "2")))):
                time.sleep(0.05)
        if alone == -1:
            run.measure("validation", run.completed + run.rank, mean=True)
        else:
            run.measure("validation", 5.0)
run.finish()
