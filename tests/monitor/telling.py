"""A training that says all that a run of ours can: two ranks, one of which is slow and dies once; it never ends."""

import os
import signal
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from clusterwright import runtime

SLOW, DIES_AT, FOR_EVER = 1, 40, 10**6
run = runtime.start(seed=3)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
run.track(model=model, optimizer=optimizer)
inputs = TensorDataset(torch.randn(400, 6, generator=torch.Generator().manual_seed(0)))
died = run.folder / "died"

for (x,) in run.steps(
    DataLoader(inputs, batch_sampler=runtime.Sampler(400, batch=8, seed=5)), total_steps=FOR_EVER
):
    time.sleep(0.1 if run.rank == SLOW else 0.05)
    if run.rank == SLOW and run.completed == DIES_AT and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    loss = nn.functional.mse_loss(model(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    if run.finite(loss, nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
        optimizer.step()
    run.step(loss, tokens=48)
