"""A training in which one rank computes more than the others before its gradients are there.

SLOWED=RANK:FROM:TO says which rank, and in which steps; WRAPPED is ddp or none. BURST=1 stops the rank now and
then from outside instead.
"""

import hashlib
import os
import signal
import subprocess
import sys
import time

import torch
from torch import nn

from clusterwright import runtime

rank, begin, end = map(int, os.environ.get("SLOWED", "-1:0:0").split(":"))
until = int(os.environ.get("UNTIL", "60"))
run = runtime.start(seed=2)
torch.manual_seed(2)
inner = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1))
model = nn.parallel.DistributedDataParallel(inner) if os.environ.get("WRAPPED", "ddp") == "ddp" else inner
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
run.track(model=model, optimizer=optimizer)
if os.environ.get("BURST") and run.rank == rank:
    program = (
        "import os,sys,time\nwhile 1:\n os.kill({0},19); time.sleep(.04); os.kill({0},18); time.sleep(.04)"
    )
    beside = subprocess.Popen([sys.executable, "-c", program.format(os.getpid())], stderr=subprocess.DEVNULL)

for step in run.steps(total_steps=until):
    x = torch.randn(32, 64, generator=torch.Generator().manual_seed(1000 * run.rank + step))
    time.sleep(0.03)
    if run.rank == rank and begin <= step < end and not os.environ.get("BURST"):
        time.sleep(0.03)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    run.step(loss)

if os.environ.get("BURST") and run.rank == rank:
    beside.kill()
    beside.wait()
    os.kill(os.getpid(), signal.SIGCONT)
weights = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in inner.state_dict().values()))
(run.folder / f"weights-{run.rank}").write_text(weights.hexdigest())
run.finish()
