"""A training whose loader reads each batch from the disk of its host, past the page cache; it never ends by itself.

argv: outputs of its layer of 8 inputs (default: 1), and processor seconds of each step besides (default: 0).
"""

import mmap
import os
import sys
import time

import torch
from torch import nn

from clusterwright import runtime

FILE_BYTES, BATCH_BYTES = 32 << 20, 4 << 20  # a second at 4 MB/s, which a busy machine hardly changes
outputs, cpu_s = (int(sys.argv[1]), float(sys.argv[2])) if len(sys.argv) > 2 else (1, 0.0)
run = runtime.start(seed=1)
model = nn.parallel.DistributedDataParallel(nn.Linear(8, outputs))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
run.track(model=model, optimizer=optimizer)


class OnDisk(torch.utils.data.Dataset):
    """Samples of half a batch each."""

    def __init__(self):
        path = f"/var/tmp/decay-{os.getuid()}-{run.rank}"
        with open(path, "wb") as file:
            file.write(os.urandom(FILE_BYTES))
            os.fsync(file.fileno())
        self.file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self.buffer = mmap.mmap(-1, BATCH_BYTES // 2)  # aligned, as O_DIRECT needs it
        os.unlink(path)

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        os.preadv(self.file, [self.buffer], index * len(self.buffer) % FILE_BYTES)
        return torch.ones(8)


data = OnDisk()
loader = torch.utils.data.DataLoader(data, batch_sampler=runtime.Sampler(len(data), batch=4, seed=1))
for inputs in run.steps(loader, total_steps=100_000):
    end_s = time.process_time() + cpu_s
    while time.process_time() < end_s:
        pass
    loss = model(inputs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.step(loss)
run.finish()
