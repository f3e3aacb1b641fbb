"""A rank of one loop of bench/loop_cost.py: reads a number of steps, runs them, prints their seconds.

Each loop follows its own documentation; all read the loss of each step, as is usual.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

VOCABULARY, WIDTH, POSITIONS, BATCH = 256, 128, 64, 16


def made() -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a model, a transformer of three layers, and its optimizer."""
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
    parts = (nn.Embedding(VOCABULARY, WIDTH), nn.TransformerEncoder(layer, 3), nn.Linear(WIDTH, VOCABULARY))
    model = nn.Sequential(*parts)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def batches() -> Iterator[Tensor]:
    """Yield this rank's batches endlessly."""
    drawn = torch.Generator().manual_seed(int(os.environ["RANK"]))
    while True:
        yield torch.randint(VOCABULARY, (BATCH, POSITIONS), generator=drawn)


def loss_of(model: nn.Module, batch: Tensor) -> Tensor:
    """Return the loss of a model that predicts each token from itself."""
    return nn.functional.cross_entropy(model(batch).flatten(0, 1), batch.flatten())


def bare() -> Iterator[float]:
    """Train by plain torch; yield the loss of each step."""
    torch.distributed.init_process_group("gloo")
    model, optimizer = made()
    if torch.distributed.get_world_size() > 1:
        model = nn.parallel.DistributedDataParallel(model)
    for batch in batches():
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        yield loss.item()


def ours() -> Iterator[float]:
    """Train with the runtime and its defaults: events, votes, checkpoints every ten minutes."""
    from clusterwright import runtime

    run = runtime.start(seed=1, folder=os.environ["LOOP_FOLDER"])
    model, optimizer = made()
    if run.world_size > 1:
        model = nn.parallel.DistributedDataParallel(model)
    run.track(model=model, optimizer=optimizer)
    source = batches()
    for _ in run.steps():
        loss = loss_of(model, next(source))
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        run.step(loss)
        yield run.loss if run.loss is not None else loss.item()


def accelerate() -> Iterator[float]:
    """Train with Accelerate."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(*made())
    for batch in batches():
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        yield loss.item()


def fabric() -> Iterator[float]:
    """Train with Lightning Fabric."""
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.environments import TorchElasticEnvironment

    ranks = int(os.environ["WORLD_SIZE"])
    more: dict[str, Any] = {"strategy": "ddp", "plugins": [TorchElasticEnvironment()]} if ranks > 1 else {}
    lightning = Fabric(accelerator="cpu", devices=ranks, **more)
    lightning.launch()
    model, optimizer = lightning.setup(*made())
    for batch in batches():
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        lightning.backward(loss)
        optimizer.step()
        yield loss.item()


def main() -> None:
    """Run the requested steps."""
    torch.set_num_threads(1)
    said, sys.stdout = sys.stdout, sys.stderr
    loop = {"bare": bare, "ours": ours, "accelerate": accelerate, "fabric": fabric}[os.environ["LOOP"]]()
    for line in sys.stdin:
        seconds, loss, cpu_s = [], 0.0, time.process_time()
        for _ in range(int(line)):
            begun = time.perf_counter()
            loss = next(loop)
            seconds.append(time.perf_counter() - begun)
        said.write(
            json.dumps(
                {"seconds": seconds, "loss": loss, "cpu_s": (time.process_time() - cpu_s) / len(seconds)}
            )
            + "\n"
        )
        said.flush()


if __name__ == "__main__":
    main()
