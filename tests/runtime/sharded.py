"""A training whose weights are sharded by torch's fully_shard over the run's mesh.

TOY_GROUP is how many ranks hold one whole of them; TOY_KILL=RANK:STEP kills a rank after a step; TOY_FLIP=RANK:STEP
flips a bit of a rank's shard; TOY_VERIFY is how often replicas are compared; TOY_DROPOUT is the odds of dropping.
"""

import os
import signal
import time

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

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


group = int(os.environ.get("TOY_GROUP", "2"))
run = runtime.start(
    seed=3,
    parallel={"shard": "full", "shard_group": group},
    verify_every=int(os.environ.get("TOY_VERIFY", "0")),
)
odds = float(os.environ.get("TOY_DROPOUT", "0"))
model = nn.Sequential(
    *(nn.Sequential(nn.Linear(6, 7), nn.ReLU(), nn.Dropout(odds), nn.Linear(7, 6)) for _ in "12")
)
runtime.recompute(model)
mesh = run.mesh["dp_replicate", "dp_shard"] if run.world_size > group else run.mesh["dp_shard"]
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
run.track(model=model, optimizer=optimizer)
inputs = torch.randn(37, 6, generator=torch.Generator().manual_seed(0))

for numbers in run.steps(runtime.Sampler(37, batch=16, seed=5), total_steps=10):
    total = torch.zeros(())
    for piece in run.accumulate(numbers, 3, model):
        loss = (model(inputs[piece]) - 1).square().sum() / 16
        total += loss.detach()
        (loss * run.world_size).backward()  # gradients are averaged over the ranks
    norm = run.clip(model, 1.0)
    torch.distributed.all_reduce(total)
    if run.finite(total, norm):
        optimizer.step()
    optimizer.zero_grad()
    run.step(total)
    if (run.rank, run.completed) == target("TOY_FLIP"):
        with torch.no_grad():
            model[0][0].weight.to_local().view(torch.int32)[0, 0] ^= 1 << 9
    if (run.rank, run.completed) == target("TOY_KILL"):
        wait_for_saves()
        os.kill(os.getpid(), signal.SIGKILL)
run.finish()
