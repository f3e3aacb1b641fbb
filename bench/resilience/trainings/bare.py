"""The bench's training loop alone, without checkpoints and restarts."""

from __future__ import annotations

import marks
import outside
import torch
import torch.distributed as dist
from torch import nn

marks.mark("imported")


def main() -> None:
    """Train from the first step to the last."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(32, marks.WIDTH), nn.ReLU(), nn.Linear(marks.WIDTH, 1))
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    marks.mark("loaded", rank=rank)
    for step in range(1, marks.UNTIL + 1):
        between = outside.enter()
        marks.pause(rank)
        x = torch.randn(16, 32, generator=torch.Generator().manual_seed(2 * step + rank))
        loss = nn.functional.mse_loss(parallel(x).squeeze(1), x.sum(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outside.leave()
        marks.mark("step", rank=rank, step=step, loss=loss.item().hex(), **between)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
