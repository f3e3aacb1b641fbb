"""The bench's training for torchrun, with atomic checkpoints by torch.save and rename."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import marks
import torch
import torch.distributed as dist
from torch import nn

marks.mark("imported")
SAVED = marks.FOLDER / "checkpoint.pt"


def train(beat: Callable[[], None] | None = None) -> None:
    """Train from the newest checkpoint to the end; call `beat` at each step."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=marks.TIMEOUT_S))
    rank = dist.get_rank()
    marks.mark("group", rank=rank)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(32, marks.WIDTH), nn.ReLU(), nn.Linear(marks.WIDTH, 1))
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    if SAVED.exists():
        state = torch.load(SAVED)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    marks.mark("loaded", rank=rank, step=step)
    while step < marks.UNTIL:
        marks.pause(rank)
        x = torch.randn(16, 32, generator=torch.Generator().manual_seed(2 * step + rank))
        loss = nn.functional.mse_loss(parallel(x).squeeze(1), x.sum(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        marks.mark("step", rank=rank, step=step, loss=loss.item().hex())
        if beat:
            beat()
        if rank == 0 and step % marks.EVERY == 0:
            scratch = SAVED.with_suffix(".new")
            torch.save(
                {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, scratch
            )
            scratch.replace(SAVED)
    dist.destroy_process_group()


if __name__ == "__main__":
    train()
