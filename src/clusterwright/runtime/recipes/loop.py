"""The training loop, the same for all recipes: what differs is a `Task`.

The batch of a step is the same whatever the number of ranks: each replica takes its share, in microbatches. A run
that is resumed on fewer ranks therefore goes on with the same samples in the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn

from clusterwright.runtime import Run, Sampler
from clusterwright.runtime.recipes.layout import Layout
from clusterwright.runtime.recipes.options import Common
from clusterwright.runtime.recipes.stages import Stage


@torch.no_grad()
def per_sample(task: Any) -> float:
    """Of the matrix products and convolutions alone, as everywhere; attention counts what a mask hides, too.

    A backward pass owes twice its forward pass: once for what came in, and once for the weights that are trained.
    """
    from torch.utils.flop_counter import FlopCounterMode

    model: nn.Module = task.model
    batch = next(iter(task.validation([[0]])))
    model.eval()
    with FlopCounterMode(display=False) as counter:
        task.judge(model, batch)
    model.train()
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in model.parameters()]
    trained = sum(size for size, does in sizes if does) / sum(size for size, _ in sizes)
    return float(counter.get_total_flops() * (2 + trained))


class Task(Protocol):
    """A model and its data."""

    model: nn.Module
    size: int  # samples to train on
    fingerprint: str  # of what they were made of: a run is not resumed on others
    validation_size: int  # samples to evaluate on
    alike: bool  # whether all samples cost the same
    measures: Sequence[str]  # what an evaluation gives

    def batches(self, sampler: Sampler) -> Iterable[Any]:
        """This rank's part of each step's batch, as `run.accumulate` can cut it."""

    def weight(self, sampler: Sampler) -> float:
        """What the sum of a step's losses, over all ranks, is divided by."""

    def tokens(self, sampler: Sampler) -> int | None:
        """How many tokens a step trains on; None where there are none."""

    def loss(self, model: nn.Module, piece: Any) -> Tensor:
        """The sum of the losses of a piece of a batch."""

    def validation(self, passes: list[list[int]]) -> Iterable[Any]:
        """What is evaluated, in batches of these samples."""

    def judge(self, model: nn.Module, batch: Any) -> Tensor:
        """A weight, and each measure times that weight, summed over a batch."""


def train(run: Run, task: Task, options: Common) -> None:
    """Train until `steps`, or until told to stop; the caller finishes the run.

    Raises:
        ValueError: the batch or the model cannot be cut in the way that is asked for.
    """
    layout = Layout(run)
    layout.check(options.batch, options.microbatch)
    if layout.stage and (options.compile or run.scaler.is_enabled()):
        raise ValueError("parallel: pipeline: --compile and --precision fp16 are not done with it; take bf16")
    if run.rank == 0 and run.generation <= 1 and task.alike:  # one that goes on has said so
        run.flops = options.batch * per_sample(task)
    model = layout.spread(task.model)
    if options.compile:
        run.compile(model)
    optimizer = torch.optim.AdamW(groups(model, options.weight_decay), betas=(0.9, 0.95), fused=True)
    run.track(model=model, optimizer=optimizer)
    sampler = Sampler(
        task.size, batch=options.batch, seed=options.seed,
        data=task.fingerprint, replica=(layout.replica, layout.replicas),
    )  # fmt: skip
    for batch in run.steps(task.batches(sampler), total_steps=options.steps):
        total = gradients(run, task, (layout, model, sampler), batch, options.microbatch)
        update(run, model, optimizer, total, options)
        dist.all_reduce(total)
        run.step(total / layout.alike, tokens=task.tokens(sampler))
        if run.completed % options.evaluate_every == 0 or run.completed == options.steps:
            evaluate(run, task, (layout, model), options)


def gradients(
    run: Run, task: Task, setup: tuple[Layout, nn.Module, Sampler], batch: Any, microbatch: int
) -> Tensor:
    """Add up this rank's gradients; returns its share of the step's mean loss."""
    layout, model, sampler = setup
    if layout.stage:
        return staged(run, task, setup, layout.stage, list(run.accumulate(batch, microbatch)))
    weight = task.weight(sampler)
    total = torch.zeros((), device=run.device)
    for piece in run.accumulate(batch, microbatch, model):
        with run.autocast():
            loss = task.loss(model, piece) / weight
        total += loss.detach()
        # gradients are averaged over the ranks, and each rank's loss is its share of a sum
        torch.autograd.backward(run.scaler.scale(loss * layout.averaged))
    return total


def staged(
    run: Run, task: Task, setup: tuple[Layout, nn.Module, Sampler], stage: Stage, pieces: list[Any]
) -> Tensor:
    """The same, where each microbatch goes through the stages of several ranks; only the last knows its loss."""
    layout, model, sampler = setup
    weight = task.weight(sampler)
    total = torch.zeros((), device=run.device)

    def forward(piece: Any) -> Tensor:
        with run.autocast():
            out = task.loss(model, piece)
        if not stage.last:
            return out
        total.add_(out.detach() / weight)
        return out / weight * layout.averaged

    stage.add_up(model, pieces, forward)
    return total


def update(
    run: Run, model: nn.Module, optimizer: torch.optim.Optimizer, total: Tensor, options: Common
) -> None:
    """One optimizer step, unless something in it is not finite."""
    run.scaler.unscale_(optimizer)
    norm = run.clip(model, options.clip)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(run.completed, options)
    if run.finite(total, norm):
        run.scaler.step(optimizer)
    run.scaler.update()
    optimizer.zero_grad()


def groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Only matrices decay, as in GPT-3; what is frozen is in neither."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {
            "params": [parameter for parameter in parameters if parameter.dim() > 1],
            "weight_decay": weight_decay,
        },
        {"params": [parameter for parameter in parameters if parameter.dim() <= 1], "weight_decay": 0.0},
    ]


def learning_rate(completed: int, options: Common) -> float:
    """Up in a line, then down along a cosine to a tenth."""
    if completed < options.warmup:
        return options.learning_rate * (completed + 1) / options.warmup
    fraction = min(1.0, (completed - options.warmup) / max(1, options.steps - options.warmup))
    return options.learning_rate * (0.1 + 0.45 * (1 + math.cos(math.pi * fraction)))


@torch.no_grad()
def evaluate(run: Run, task: Task, setup: tuple[Layout, nn.Module], options: Common) -> None:
    """Measure over the same samples each time; each replica takes its share of them."""
    layout, model = setup
    count = min(options.evaluate_samples, task.validation_size)
    sample_batches = list(passes(count, options.microbatch, layout.replica, layout.replicas))
    batches = task.validation([numbers or [0] for numbers in sample_batches])
    sums = torch.zeros(1 + len(task.measures), device=run.device)
    inner_model = layout.unwrap(model)
    inner_model.eval()
    for remembered in inner_model.buffers():  # by a norm: each rank saw samples of its own
        dist.broadcast(remembered, 0)
    with run.pause("evaluation") as pause:
        # where the weights are in parts, every rank's pass needs the others: none may leave early
        shared: Iterable[Any] = pause.over(batches) if layout.replicated else batches
        for numbers, batch in zip(sample_batches, shared):
            with run.autocast():
                sums += task.judge(inner_model, batch) * (bool(numbers) and layout.judges)
    inner_model.train()
    dist.all_reduce(sums)
    sums[0] /= layout.context  # the ranks of a sequence share its losses, and each counts it
    for name, value in zip(task.measures, sums[1:]):
        run.measure(name, value / sums[0])


def passes(count: int, microbatch: int, which: int, replicas: int) -> Iterator[list[int]]:
    """One replica's part of so many samples; all have as many passes, though the last may be empty."""
    samples = range(which, count, replicas)
    for number in range(math.ceil(math.ceil(count / replicas) / microbatch)):
        yield list(samples[number * microbatch : (number + 1) * microbatch])
