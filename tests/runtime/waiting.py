"""A rank whose data takes its time: rank 1's three times as long as rank 0's, of steps of 20 ms."""

import os
import time

import torch
from torch import nn

from clusterwright import runtime


class Slow(torch.utils.data.Dataset):
    """Samples that take their time."""

    def __len__(self):
        return 64

    def __getitem__(self, number):
        time.sleep(0.001 * (1 + 2 * int(os.environ["RANK"])))
        return torch.ones(4)


def main():
    """Forty steps of a tiny model."""
    run = runtime.start(seed=1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
    run.track(model=model, optimizer=optimizer)
    run.flops = 1e6
    sampler = runtime.Sampler(64, batch=8, seed=1)
    for batch in run.steps(runtime.Feeder(Slow(), sampler, workers=0), total_steps=40):
        loss = model(batch).square().mean()
        loss.backward()
        norm = run.clip(model, 1.0)
        if run.finite(loss, norm):
            optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)
        run.step(loss)
    run.passed_over("bad sample passed over: x")
    run.finish()


main()
