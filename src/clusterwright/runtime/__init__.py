"""The library that a training script imports: process group, seeds, checkpoints, resume, events.

run = runtime.start(seed=1)
run.track(model=model, optimizer=optimizer)
for batch in run.steps(runtime.Sampler(len(data), batch=32, seed=1), total_steps=300):
    ...
    run.step(loss)
run.finish()
"""

from clusterwright.runtime.checkpoints.checkpoint import Checkpoints, load
from clusterwright.runtime.data import Sampler
from clusterwright.runtime.events import Events
from clusterwright.runtime.feeder import Feeder
from clusterwright.runtime.group import Group, join
from clusterwright.runtime.run import Run, start
from clusterwright.runtime.services.recompute import recompute
from clusterwright.runtime.services.samples import Reproducible, sample_seed

__all__ = [
    "Checkpoints",
    "Events",
    "Feeder",
    "Group",
    "Reproducible",
    "Run",
    "Sampler",
    "join",
    "load",
    "recompute",
    "sample_seed",
    "start",
]
