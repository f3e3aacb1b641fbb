"""What we measure of each step, beside what DistributedDataParallel's own timers say of it; rank 1 is late.

Gradients lie where they are sent from: what it takes to copy them there is communication to us, and computing to torch.
"""

import json
import time

import torch
from torch import nn

from clusterwright import runtime
from clusterwright.runtime.backward import Backward
from clusterwright.runtime.exposed import Processor

STEPS = 10  # torch times each of the first ten, and then every hundredth

run = runtime.start(seed=1)
layers = nn.Sequential(nn.Linear(1000, 1000), nn.Linear(1000, 1000))
model = nn.parallel.DistributedDataParallel(layers, gradient_as_bucket_view=True)
clock = Processor()
watched = Backward(model.module, clock.ready, clock.complete)
found, before_s = [], 0.0
for _ in range(STEPS):
    time.sleep(0.02 * (run.rank == 1))
    model(torch.ones(2, 1000)).sum().backward()
    watched.stepped()
    told = (
        model._get_ddp_logging_data()
    )  # of the step before: it looks at its timers in the next forward pass
    if "backward_comm_time_end" in told:
        found.append((before_s, (told["backward_comm_time_end"] - told["backward_compute_time_end"]) / 1e9))
    before_s = clock.ended()[0]
(run.folder / f"agreeing-{run.rank}").write_text(json.dumps(found))
run.finish()
