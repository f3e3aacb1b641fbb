"""A training in which much has a state: shuffling, a worker that loads, dropout, batch statistics, moments.

STORMY_STEPS is the last step. Each rank writes its process id and every loss, exactly, into the run's folder.
"""

import hashlib
import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from clusterwright import runtime

run = runtime.start(seed=7)
(run.folder / f"pid-{run.rank}").write_text(str(os.getpid()))
model = nn.Sequential(
    nn.Linear(6, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 1)
)  # fmt: skip
parallel = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=11)
run.track(model=parallel, optimizer=optimizer, scheduler=scheduler)
inputs = torch.randn(300, 6, generator=torch.Generator().manual_seed(0))
sampler = runtime.Sampler(300, batch=8, seed=5)
loader = DataLoader(TensorDataset(inputs), batch_sampler=sampler, num_workers=1)
losses = (run.folder / f"losses-{run.rank}").open("a")

for (x,) in run.steps(loader, total_steps=int(os.environ["STORMY_STEPS"])):
    time.sleep(0.02)
    loss = nn.functional.mse_loss(parallel(x).squeeze(1), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    run.step(loss)
    print(run.completed, loss.item().hex(), file=losses, flush=True)

weights = b"".join(each.numpy().tobytes() for each in model.state_dict().values())
(run.folder / f"weights-{run.rank}").write_text(hashlib.sha256(weights).hexdigest())
run.finish()
