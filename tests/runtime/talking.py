"""A training whose gradients are WIDTH x WIDTH numbers; rank 1 computes for LATE seconds more in each step.

WRAPPED is ddp, none or fsdp; PIECES adds gradients up, with SYNC=1 over ranks each time; HEAD=1 has a weight registered
first whose gradient comes first, 20 ms before all others.
"""

import contextlib
import os
import time

import torch
from torch import nn

from clusterwright import runtime

WIDTH = int(os.environ.get("WIDTH", "8"))
HEAD = bool(os.environ.get("HEAD"))
SYNC = bool(os.environ.get("SYNC"))
LATE, PIECES = float(os.environ.get("LATE", "0")), int(os.environ.get("PIECES", "1"))


class Model(nn.Module):
    """A small layer and a wide one."""

    def __init__(self):
        super().__init__()
        if HEAD:
            self.head = nn.Linear(WIDTH, 1)
        self.wide, self.small = nn.Linear(WIDTH, WIDTH), nn.Linear(4, WIDTH)

    def forward(self, x):
        """One number for each sample."""
        found = self.wide(self.small(x))
        return self.head(slow(found)) if HEAD else found.mean(-1)


class Slowly(torch.autograd.Function):
    """Takes 20 ms on the way back."""

    @staticmethod
    def forward(_, x):
        """As it is."""
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        """As it is, later."""
        time.sleep(0.02)
        return gradient


slow = Slowly.apply
run = runtime.start(seed=1)
model = Model()
wrapped = os.environ.get("WRAPPED", "ddp")
if wrapped == "ddp":
    model = nn.parallel.DistributedDataParallel(model)
elif wrapped == "fsdp":
    from torch.distributed.fsdp import fully_shard

    fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
run.track(model=model, optimizer=optimizer)
for _ in run.steps(total_steps=int(os.environ.get("UNTIL", "40"))):
    time.sleep(0.02 + LATE * (run.rank == 1))
    for piece in range(PIECES):
        alone = model.no_sync() if piece < PIECES - 1 and not SYNC else contextlib.nullcontext()
        with alone:
            loss = model(torch.ones(2, 4)).square().mean()
            loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    run.step(loss)
run.finish()
