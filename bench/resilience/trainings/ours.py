"""The bench's training with the runtime."""

from __future__ import annotations

import hashlib

import marks
import outside
import torch
from torch import nn

from clusterwright import runtime

marks.mark("imported")


def main() -> None:
    """Train from the newest saved step to the end."""
    run = runtime.start(seed=1)
    marks.mark("group", rank=run.rank)
    model = nn.Sequential(nn.Linear(32, marks.WIDTH), nn.ReLU(), nn.Linear(marks.WIDTH, 1))
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    run.track(model=parallel, optimizer=optimizer)
    sampler = runtime.Sampler(4096, batch=32, seed=1)
    marks.mark("built", rank=run.rank)
    begun = False
    for numbers in run.steps(sampler, total_steps=marks.UNTIL):
        between = outside.enter()
        if not begun:
            begun = True
            marks.mark("loaded", rank=run.rank, step=run.completed)
        marks.pause(run.rank)
        x = torch.randn(16, 32, generator=torch.Generator().manual_seed(int(numbers[0])))
        loss = nn.functional.mse_loss(parallel(x).squeeze(1), x.sum(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outside.leave()
        run.step(loss)
        marks.mark("step", rank=run.rank, step=run.completed, loss=loss.item().hex(), **between)
    weights = b"".join(each.numpy().tobytes() for each in model.state_dict().values())
    marks.mark("weights", rank=run.rank, digest=hashlib.sha256(weights).hexdigest())
    run.finish()


if __name__ == "__main__":
    main()
