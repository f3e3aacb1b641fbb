"""A rank of bench/slow_network.py: 25 M parameters with sleeps as computation, so that only the network is measured.

Weights have the shapes of a transformer of width 512. Forward and backward pass take a third and two thirds of
SLOW_COMPUTE seconds, and gradients become ready one matrix after another, as in a real training.
Rank 0 writes the seconds of each step and the bytes sent by its interface to SLOW_OUT.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from clusterwright import runtime

WIDTH, LAYERS = 512, 8
COMPUTE_S = float(os.environ["SLOW_COMPUTE"])
OUT = Path("/sys/class/net/eth0/statistics/tx_bytes")


SHAPES = ((3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH))


class Wait(torch.autograd.Function):
    """A simulated matrix product: sleeps, and returns a fixed gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, given: Tensor, _weight: Tensor) -> Tensor:
        """Simulate the forward pass: sleep for a third of the time."""
        ctx.given = given
        time.sleep(_seconds(given) / 3)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        """Simulate the backward pass: sleep for two thirds of the time."""
        time.sleep(_seconds(ctx.given) * 2 / 3)
        return gradients[0], None, ctx.given


class Layer(nn.Module):
    """A layer with the weights of attention and feed-forward network, 12 x width^2."""

    def __init__(self, drawn: torch.Generator) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.zeros(shape) for shape in SHAPES)
        self.given = [torch.randn(shape, generator=drawn) / WIDTH for shape in SHAPES]

    def forward(self, x: Tensor) -> Tensor:
        """Return the input after the simulated time of each weight."""
        apply: Any = Wait.apply
        for given, weight in zip(self.given, self.weights, strict=True):
            x = apply(x, given, weight)
        return x


def _seconds(weight: Tensor) -> float:
    """Return the seconds that a weight's computation takes."""
    return COMPUTE_S / LAYERS * weight.numel() / (12 * WIDTH**2)


def main() -> None:
    """Train the steps and write the results."""
    torch.set_num_threads(1)
    run = runtime.start(seed=1, folder=os.environ["SLOW_FOLDER"], every="seconds:99999")
    drawn = torch.Generator().manual_seed(run.rank)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*(Layer(drawn) for _ in range(LAYERS))))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)  # one pass over the weights, as CPUs are few
    run.track(model=model, optimizer=optimizer)
    seconds, sent = [], []
    x = torch.zeros(1, requires_grad=True)
    for _ in run.steps(total_steps=int(os.environ["SLOW_STEPS"])):
        begun, before = time.monotonic(), int(OUT.read_text())
        model(x).sum().backward()
        optimizer.step()
        run.step(0.0)
        seconds.append(time.monotonic() - begun)
        sent.append(int(OUT.read_text()) - before)
    if run.rank == 0:
        count = sum(each.numel() for each in model.parameters())
        found = {"seconds": seconds, "sent": sent, "parameters": count}
        Path(os.environ["SLOW_OUT"]).write_text(json.dumps(found))
    run.stopped = "measured"  # nothing is saved


if __name__ == "__main__":
    main()
