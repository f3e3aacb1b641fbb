"""The bench's training with torchft: each rank is its own replica group, and the others continue without it."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import marks
import torch
from torch import nn
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

marks.mark("imported")
REPLICA = int(os.environ["REPLICA_GROUP_ID"])
TIMEOUT = timedelta(seconds=5)  # shorter ones fail on a busy machine


def main() -> None:
    """Train step by step with the available replicas."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(32, marks.WIDTH), nn.ReLU(), nn.Linear(marks.WIDTH, 1))

    def load(state: dict[str, Any]) -> None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

    def keep() -> dict[str, Any]:
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

    manager = Manager(
        pg=ProcessGroupGloo(timeout=TIMEOUT), min_replica_size=1, load_state_dict=load, state_dict=keep,
        replica_id=f"replica{REPLICA}", timeout=TIMEOUT,
    )  # fmt: skip
    marks.mark("group", rank=REPLICA)
    parallel = DistributedDataParallel(manager, model)
    optimizer = Optimizer(manager, torch.optim.AdamW(model.parameters(), lr=1e-3))
    marks.mark("loaded", rank=REPLICA)
    while manager.current_step() < marks.UNTIL:
        marks.pause(REPLICA)
        before = manager.current_step()
        optimizer.zero_grad()
        x = torch.randn(16, 32, generator=torch.Generator().manual_seed(2 * before + REPLICA))
        loss = nn.functional.mse_loss(parallel(x).squeeze(1), x.sum(1))
        loss.backward()
        optimizer.step()
        if manager.current_step() > before:  # an uncommitted step does not count
            marks.mark(
                "step", rank=REPLICA, step=manager.current_step(), loss=loss.item().hex(),
                replicas=manager.num_participants(),
            )  # fmt: skip


if __name__ == "__main__":
    main()
