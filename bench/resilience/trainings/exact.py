"""A training with all kinds of state, with the runtime: dropout, shuffling, workers, schedule, several epochs.

BENCH_WORKERS workers load the data. A file `armed-save`, such as `{"rank": 1, "count": 2}`, makes that rank kill itself
at its second fsync from then on, which only a save calls.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal

import marks
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from clusterwright import runtime

SAMPLES, BATCH = 100, 16  # not a multiple of the batch, so an epoch ends within a step
WORKERS = int(os.environ.get("BENCH_WORKERS", "0"))
ARMED = marks.FOLDER / "armed-save"


class Numbered(Dataset):
    """A dataset of samples with their indexes."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, number: int) -> tuple[int, torch.Tensor]:
        return number, torch.randn(8, generator=torch.Generator().manual_seed(number))


def die_in_save(rank: int) -> None:
    """Replace fsync by one that kills this process when `armed-save` requests it."""
    fsync, seen = os.fsync, [0]

    def watched(file: int) -> None:
        if ARMED.exists() and (order := json.loads(ARMED.read_text()))["rank"] == rank:
            seen[0] += 1
            if seen[0] >= order["count"]:
                ARMED.rename(marks.FOLDER / "struck-save")
                marks.mark("fault", rank=rank)
                os.kill(os.getpid(), signal.SIGKILL)
        fsync(file)

    os.fsync = watched


def main() -> None:
    """Train from the newest saved step to the end."""
    run = runtime.start(seed=7)
    marks.mark("group", rank=run.rank)
    die_in_save(run.rank)
    model = nn.Sequential(
        nn.Linear(8, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 1)
    )
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=5)
    run.track(model=parallel, optimizer=optimizer, scheduler=scheduler)
    sampler = runtime.Sampler(SAMPLES, batch=BATCH, seed=7)
    loader = DataLoader(Numbered(), batch_sampler=sampler, num_workers=WORKERS)
    for numbers, x in run.steps(loader, total_steps=marks.UNTIL):
        marks.pause(run.rank)
        loss = nn.functional.mse_loss(parallel(x).squeeze(1), x.sum(1) + torch.rand(len(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        run.step(loss)
        said = {"loss": loss.item().hex(), "samples": numbers.tolist()}
        marks.mark("step", rank=run.rank, step=run.completed, **said)
    weights = b"".join(each.numpy().tobytes() for each in model.state_dict().values())
    marks.mark("weights", rank=run.rank, digest=hashlib.sha256(weights).hexdigest())
    run.finish()


if __name__ == "__main__":
    main()
