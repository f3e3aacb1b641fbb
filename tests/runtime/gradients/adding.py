"""Some steps of a model whose gradients are told beforehand; each rank says what the sums came to.

ADD_STEPS is how many; ADD_HOSTS deals the ranks out to so many hosts; ADD_BAD=STEP makes rank 1's gradients infinite
in a step. What plain DistributedDataParallel would have is worked out by each rank by itself.
"""

import json
import os

import torch
import torch.distributed as dist
from torch import nn

from clusterwright import runtime
from clusterwright.runtime.gradients import power

if "ADD_HOSTS" in os.environ:
    os.environ["GROUP_RANK"] = str(int(os.environ["RANK"]) % int(os.environ["ADD_HOSTS"]))
SHAPES = {"large": (48, 64), "tall": (96, 3, 8), "bias": (64,), "small": (3, 4), "one": ()}


class Given(nn.Module):
    """Its gradients are what it is called with."""

    def __init__(self):
        super().__init__()
        for name, shape in SHAPES.items():
            setattr(self, name, nn.Parameter(torch.zeros(shape)))

    def forward(self, gradients):
        """A sum whose gradients they are."""
        return sum((getattr(self, name) * each).sum() for name, each in gradients.items())


def gradients(rank, step):
    """Of one rank, in one step."""
    drawn = torch.Generator().manual_seed(1000 * step + rank)
    found = {name: torch.randn(shape, generator=drawn) for name, shape in SHAPES.items()}
    if rank == 1 and str(step) == os.environ.get("ADD_BAD"):
        found["large"][0, 0] = torch.inf
    return found


def mean(step):
    """Over all ranks."""
    every = [gradients(rank, step) for rank in range(run.world_size)]
    return {name: torch.stack([each[name] for each in every]).mean(0) for name in SHAPES}


class Simulated:
    """PowerSGD as its authors write it down (algorithms 1 and 2), for one matrix and all ranks in one place."""

    def __init__(self, name, rank):
        self.name, self.rank, self.errors, self.q = name, rank, None, None

    def step(self, matrices):
        """The mean that all ranks would have, given the gradient of each."""
        matrices = [each.reshape(len(each), -1).double() for each in matrices]
        if self.errors:
            matrices = [each + error for each, error in zip(matrices, self.errors, strict=True)]
        if self.q is None:
            self.q = power._random(self.name, matrices[0].shape[1], self.rank).double()
        p = torch.linalg.qr(sum(each @ self.q for each in matrices) / len(matrices))[0]
        own = [each.t() @ p for each in matrices]
        self.errors = [each - p @ q.t() for each, q in zip(matrices, own, strict=True)]
        self.q = sum(own) / len(own)
        return p @ self.q.t()


run = runtime.start(seed=1, folder=os.environ["CLUSTERWRIGHT_RUN"])
model = nn.parallel.DistributedDataParallel(Given(), bucket_cap_mb=0.005)
run.track(model=model)
rank_of_power = int(os.environ.get("CLUSTERWRIGHT_GRADIENT_RANK", "4"))
simulated = {name: Simulated(name, rank_of_power) for name in ("large", "tall")}
warm_up = int(os.environ.get("CLUSTERWRIGHT_GRADIENT_WARM_UP", "0"))
said = {"off": [], "off_simulated": [], "finite": []}
missing = torch.zeros(SHAPES["large"])
for step in run.steps(total_steps=int(os.environ.get("ADD_STEPS", "3"))):
    model.zero_grad()
    model(gradients(run.rank, step)).backward()
    exact = mean(step)
    got = {name: getattr(model.module, name).grad for name in SHAPES}
    said["finite"].append(all(bool(each.isfinite().all()) for each in got.values()))
    said["off"].append({name: (got[name] - exact[name]).abs().max().item() for name in SHAPES})
    missing += exact["large"] - got["large"]
    if step >= warm_up and str(step) != os.environ.get("ADD_BAD"):
        every = [gradients(rank, step) for rank in range(run.world_size)]
        found = {name: each.step([one[name] for one in every]) for name, each in simulated.items()}
        off = [(got[name].reshape(each.shape) - each).abs().max().item() for name, each in found.items()]
        said["off_simulated"].append(max(off))
    run.step(0.0)
said["off_sum"] = missing.abs().max().item()
everyone = [None] * run.world_size
dist.all_gather_object(everyone, {name: each.tolist() for name, each in got.items()})
said["alike"] = all(each == everyone[0] for each in everyone)
(run.folder / f"said-{run.rank}").write_text(json.dumps(said))
run.finish()
