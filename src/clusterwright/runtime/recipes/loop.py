"""The training loop of all recipes, over a `Task`.

The batch of a step does not depend on the number of ranks: each replica takes its share, in microbatches. A run
resumed on fewer ranks therefore continues with the same samples in the same steps.
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
    """Return the FLOPs of training on one sample.

    Counts matrix products and convolutions only, as is usual, and attention without its mask. A backward pass takes
    twice the forward pass: once for input gradients, once for those of trained weights.
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
    """A model, its data and its loss."""

    model: nn.Module
    size: int  # training samples
    fingerprint: str  # of the data: a run does not resume on other data
    validation_size: int  # validation samples
    alike: bool  # whether all samples take the same FLOPs
    measures: Sequence[str]  # metrics of an evaluation

    def batches(self, sampler: Sampler) -> Iterable[Any]:
        """Return an iterable of this rank's batches, which `run.accumulate` can split."""

    def weight(self, sampler: Sampler) -> float:
        """Return the divisor of a step's summed loss, over all ranks, such as the number of tokens."""

    def tokens(self, sampler: Sampler) -> int | None:
        """Return the number of tokens in a step, None without tokens."""

    def loss(self, model: nn.Module, piece: Any) -> Tensor:
        """Return the loss of a microbatch, summed over the units that `weight` counts, such as tokens or images."""

    def validation(self, passes: list[list[int]]) -> Iterable[Any]:
        """Return validation batches for these lists of sample indexes."""

    def judge(self, model: nn.Module, batch: Any) -> Tensor:
        """Return a tensor for a validation batch: the sum of weights, then each metric's sum times weight."""


def train(run: Run, task: Task, options: Common) -> None:
    """Train for `options.steps` steps or until the run is stopped; evaluate; the caller calls `run.finish`.

    The run tracks the model and its AdamW optimizer, and so resumes and saves both.

    Raises:
        ValueError: batch, model or options do not fit the parallel layout.
    """
    layout = Layout(run)
    layout.check(options.batch, options.microbatch)
    if layout.stage and (options.compile or run.scaler.is_enabled()):
        raise ValueError(
            "parallel: pipeline excludes --compile and --precision fp16; fix: use bf16, no --compile"
        )
    if run.rank == 0 and run.generation <= 1 and task.alike:  # later generations have it in the run's events
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
    """Accumulate this rank's gradients of a batch, scaled under fp16; return its share of the step's mean loss."""
    layout, model, sampler = setup
    if layout.stage:
        return staged(run, task, setup, layout.stage, list(run.accumulate(batch, microbatch)))
    weight = task.weight(sampler)
    total = torch.zeros((), device=run.device)
    for piece in run.accumulate(batch, microbatch, model):
        with run.autocast():
            loss = task.loss(model, piece) / weight
        total += loss.detach()
        # gradients are averaged over ranks, but each rank's loss is its share of a sum
        torch.autograd.backward(run.scaler.scale(loss * layout.averaged))
    return total


def staged(
    run: Run, task: Task, setup: tuple[Layout, nn.Module, Sampler], stage: Stage, pieces: list[Any]
) -> Tensor:
    """Accumulate the gradients of microbatches through the pipeline's stages; return this rank's share of the loss.

    Only the last stage computes it; 0 on others.
    """
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
    """Clip gradients, set the learning rate and run one optimizer step; no step if loss or norm are not finite.

    Gradients are cleared afterwards in any case. `total` is this rank's share of the loss.
    """
    run.scaler.unscale_(optimizer)
    norm = run.clip(model, options.clip)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(run.completed, options)
    if run.finite(total, norm):
        run.scaler.step(optimizer)
    run.scaler.update()
    optimizer.zero_grad()


def groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return two parameter groups of the trained weights: weight decay for matrices only, as in GPT-3.

    Vectors, such as biases and norms, have none.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {
            "params": [parameter for parameter in parameters if parameter.dim() > 1],
            "weight_decay": weight_decay,
        },
        {"params": [parameter for parameter in parameters if parameter.dim() <= 1], "weight_decay": 0.0},
    ]


def learning_rate(completed: int, options: Common) -> float:
    """Return the learning rate after `completed` steps: linear warm-up, then cosine decay to a tenth."""
    if completed < options.warmup:
        return options.learning_rate * (completed + 1) / options.warmup
    fraction = min(1.0, (completed - options.warmup) / max(1, options.steps - options.warmup))
    return options.learning_rate * (0.1 + 0.45 * (1 + math.cos(math.pi * fraction)))


@torch.no_grad()
def evaluate(run: Run, task: Task, setup: tuple[Layout, nn.Module], options: Common) -> None:
    """Evaluate the model on the task's validation samples, split over the replicas, and record the metrics; collective.

    The samples are the same each time.
    """
    layout, model = setup
    count = min(options.evaluate_samples, task.validation_size)
    sample_batches = list(passes(count, options.microbatch, layout.replica, layout.replicas))
    batches = task.validation([numbers or [0] for numbers in sample_batches])
    sums = torch.zeros(1 + len(task.measures), device=run.device)
    inner_model = layout.unwrap(model)
    inner_model.eval()
    for remembered in inner_model.buffers():  # such as BatchNorm statistics, which differ between ranks
        dist.broadcast(remembered, 0)
    with run.pause("evaluation") as pause:
        # with sharded weights each rank's pass needs the others, so none may stop early
        shared: Iterable[Any] = pause.over(batches) if layout.replicated else batches
        for numbers, batch in zip(sample_batches, shared):
            with run.autocast():
                sums += task.judge(inner_model, batch) * (bool(numbers) and layout.judges)
    inner_model.train()
    dist.all_reduce(sums)
    sums[0] /= layout.context  # each rank of a sequence counts its weight
    for name, value in zip(task.measures, sums[1:]):
        run.measure(name, value / sums[0])


def passes(count: int, microbatch: int, which: int, replicas: int) -> Iterator[list[int]]:
    """Yield the batches of sample indexes of replica `which`, of `count` samples shared by all replicas.

    All replicas get the same number of batches, of which the last may be empty.
    """
    samples = range(which, count, replicas)
    for number in range(math.ceil(math.ceil(count / replicas) / microbatch)):
        yield list(samples[number * microbatch : (number + 1) * microbatch])
