"""A training that looks at its numbers, and goes wrong where the environment says so.

TOY_NAN=RANK:STEP makes a rank's loss not finite in a step and TOY_NANS in so many after it; TOY_FLIP=RANK:STEP flips a
bit of a rank's weights after a step; TOY_WRONG=RANK:STEP lets a rank compute the compared microbatch wrong;
TOY_UNSTEADY=1 lets it come out otherwise each time. TOY_LOOK=0 takes `run.finite` out of the loop, TOY_COMPARE=0
`run.verify`.
"""

import hashlib
import os

import torch
from torch import nn

from clusterwright import runtime


def target(name):
    """Rank and number out of `RANK:NUMBER`; what nothing reaches when it is not set."""
    return tuple(int(word) for word in os.environ.get(name, "-1:-1").split(":"))


def weights():
    """The sum of all weights as they are now."""
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()[:16]


def loss_of(module, batch):
    """The loss of the compared microbatch, computed right or wrong."""
    loss = module(batch).square().mean()
    if (run.rank, run.completed + 1) == target("TOY_WRONG"):
        loss = loss * 1.0001
    if "TOY_UNSTEADY" in os.environ:
        loss = loss * int.from_bytes(os.urandom(4), "little")
    return loss


run = runtime.start(
    seed=3,
    on_nan=os.environ.get("TOY_ON_NAN", "stop"),
    verify_every=int(os.environ.get("TOY_VERIFY", "0")),
    on_corruption=os.environ.get("TOY_ON_CORRUPTION", "stop"),
)
model = nn.Sequential(nn.Linear(6, 30), nn.BatchNorm1d(30), nn.Dropout(0.3), nn.Linear(30, 1))
parallel = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
run.track(model=parallel, optimizer=optimizer)
inputs = torch.randn(64, 6, generator=torch.Generator().manual_seed(0))
log = (run.folder / f"weights-by-step-{run.rank}").open("a")

for numbers in run.steps(
    runtime.Sampler(64, batch=12, seed=5), total_steps=int(os.environ.get("TOY_UNTIL", "8"))
):
    if os.environ.get("TOY_COMPARE") != "0":
        run.verify(parallel, loss_of, inputs[numbers])
    loss = parallel(inputs[numbers]).square().mean()
    doomed, first = target("TOY_NAN")
    if run.rank == doomed and first <= run.completed + 1 <= first + int(os.environ.get("TOY_NANS", "0")):
        loss = loss * float("nan")
    optimizer.zero_grad()
    loss.backward()
    norm = run.clip(model, 1.0)
    if os.environ.get("TOY_LOOK") == "0" or run.finite(loss, norm):
        optimizer.step()
    run.step(loss)
    if (run.rank, run.completed) == target("TOY_FLIP"):
        with torch.no_grad():
            model[0].weight.view(torch.int32)[2, 3] ^= 1 << 7
    print(run.completed, weights(), file=log, flush=True)
run.finish()
