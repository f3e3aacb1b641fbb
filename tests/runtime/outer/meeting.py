"""Ranks that step by themselves and meet, beside all of them simulated in one place, and a mean in fewer bits.

MEET_STEPS is how many. Each rank says how far its weights were off the simulation's after each step, and how far a mean
of 1,000,003 numbers was off, in each number of bits.
"""

import copy
import json
import os

import torch
import torch.distributed as dist
from torch import nn

from clusterwright import runtime
from clusterwright.runtime.gradients.mean import mean
from clusterwright.runtime.outer.settings import read

NUMBERS = 1_000_003  # no multiple of a block


def inputs(rank, step):
    """A batch of one rank."""
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(1000 * step + rank))


def made():
    """A model and its inner optimizer."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def simulate(workers, outer, step):
    """One step of all ranks; torch's own SGD is the outer optimizer."""
    for rank, (model, _) in enumerate(workers):
        model(inputs(rank, step)).square().mean().backward()
    if step < said.warm_up:
        for alike in zip(*(model.parameters() for model, _ in workers), strict=True):
            mean_of = torch.stack([each.grad for each in alike]).mean(0)
            for each in alike:
                each.grad = mean_of.clone()
    for _, optimizer in workers:
        optimizer.step()
        optimizer.zero_grad()
    if step < said.warm_up:
        outer[0].load_state_dict(workers[0][0].state_dict())
        return
    if (step + 1) % said.every and step + 1 != steps:
        return
    met, optimizer = outer
    moved = zip(met.parameters(), *(model.parameters() for model, _ in workers), strict=True)
    for place, *others in moved:
        place.grad = (place - torch.stack([each.detach() for each in others]).mean(0)).detach()
    optimizer.step()
    for model, _ in workers:
        model.load_state_dict(met.state_dict())


def off_by(bits):
    """How far the mean of random numbers is off, of the largest in size; and whether all ranks have the same."""
    vectors = [
        torch.randn(NUMBERS, generator=torch.Generator().manual_seed(rank)) for rank in range(run.world_size)
    ]
    found = mean(vectors[run.rank].clone(), dist.group.WORLD, bits)
    everyone = [torch.empty_like(found) for _ in vectors]
    dist.all_gather(everyone, found)
    exact = torch.stack(vectors).mean(0)
    return (found - exact).abs().max().item(), all(torch.equal(each, found) for each in everyone)


said, steps = read(os.environ), int(os.environ.get("MEET_STEPS", "10"))
run = runtime.start(seed=1, folder=os.environ["CLUSTERWRIGHT_RUN"])
model, optimizer = made()
workers = [made() for _ in range(run.world_size)]
outer = copy.deepcopy(model)
outer = (
    outer,
    torch.optim.SGD(outer.parameters(), lr=said.lr, momentum=said.momentum, nesterov=said.momentum > 0),
)
parallel = nn.parallel.DistributedDataParallel(model)
run.track(model=parallel, optimizer=optimizer)
off = []
for step in run.steps(total_steps=steps):
    parallel(inputs(run.rank, step)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    run.step(0.0)
    simulate(workers, outer, step)
    pairs = zip(model.parameters(), workers[run.rank][0].parameters(), strict=True)
    off.append(max((mine - its).abs().max().item() for mine, its in pairs))
bits = {str(each): off_by(each) for each in (32, 16, 8)}
weights = [each.tolist() for each in model.parameters()]
(run.folder / f"said-{run.rank}").write_text(json.dumps({"off": off, "bits": bits, "weights": weights}))
run.finish()
