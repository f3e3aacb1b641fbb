"""Train a small transformer on text: `python -m clusterwright.train.recipes.gpt --steps 300`.

The batch of a step is the same whatever the number of ranks: each takes its share, in microbatches. A run
that is resumed on fewer ranks therefore goes on with the same samples in the same steps.
"""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields

import torch
import torch.distributed as dist

from clusterwright.train.recipes import text
from clusterwright.train.recipes.adamw import AdamW
from clusterwright.train.recipes.gradients import Flat, Overlapped
from clusterwright.train.recipes.transformer import Shape, Transformer
from clusterwright.train.runtime import Run, Sampler, start


@dataclass(frozen=True)
class Options:
    """What can be said on the command line, `--like-this VALUE`."""

    steps: int = 300
    batch: int = 32  # samples of a step, over all ranks
    microbatch: int = 8  # samples that go through the model at once
    context: int = 64  # bytes that the model sees
    width: int = 128
    layers: int = 3
    heads: int = 4
    dropout: float = 0.1
    learning_rate: float = 3e-3
    warmup: int = 20  # steps until the learning rate is reached
    weight_decay: float = 0.1  # as GPT-3 (appendix B), like the betas and the clipping
    clip: float = 1.0
    data_parallel: str = "auto"  # flat, ddp (torch's DistributedDataParallel), or auto: ddp on CUDA
    seed: int = 1
    evaluate_every: int = 100
    evaluate_windows: int = 64
    text: str = ""  # a folder of text files; Python's standard library if left out
    text_bytes: int = 8_000_000
    folder: str = ""  # where to keep events and checkpoints when no launcher says so


def main(arguments: Sequence[str] | None = None) -> None:
    """Train until `steps`, or until told to stop."""
    options = parse(arguments)
    run = start(seed=options.seed, folder=options.folder or None)
    training, validation = text.read(options.text, context=options.context, limit=options.text_bytes)
    shape = Shape(options.context, options.width, options.layers, options.heads, options.dropout)
    model = Transformer(shape).to(run.device)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=options.weight_decay)
    gradients = (Overlapped if overlap(options, run) else Flat)(model)
    run.track(model=model, optimizer=optimizer)
    sampler = Sampler(len(training), batch=options.batch, seed=options.seed)
    for numbers in run.steps(sampler, until=options.steps):
        gradients.clear()
        for part in range(0, len(numbers), options.microbatch):
            windows = training.windows(numbers[part : part + options.microbatch], run.device)
            with gradients.share(last=part + options.microbatch >= len(numbers)):
                with precision(run.device):
                    loss = gradients.loss(windows) / (options.batch * options.context)
                torch.autograd.backward(loss)
            gradients.add_loss(loss)
        whole_loss = gradients.sum_over_ranks()
        gradients.clip(options.clip)
        optimizer.lr = learning_rate(run.completed, options)
        optimizer.step()
        run.step(whole_loss)
        if run.completed % options.evaluate_every == 0 or run.completed == options.steps:
            run.record("validation", step=run.completed, loss=evaluate(model, validation, options, run))
    run.finish()


def parse(arguments: Sequence[str] | None) -> Options:
    """The options from a command line; a job file's `arguments` arrive here as `--name value`."""
    parser = argparse.ArgumentParser(prog="gpt", description=main.__doc__)
    for field in fields(Options):
        names = {f"--{field.name}", f"--{field.name.replace('_', '-')}"}
        parser.add_argument(*sorted(names), dest=field.name, type=type(field.default), default=field.default)
    return Options(**vars(parser.parse_args(arguments)))


def overlap(options: Options, run: Run) -> bool:
    """True when gradients are to travel during the backward pass.

    Raises:
        ValueError: no such way, or a rank would be without a sample.
    """
    if options.data_parallel not in ("auto", "flat", "ddp"):
        raise ValueError(f"--data-parallel {options.data_parallel}: it is auto, flat or ddp")
    wanted = options.data_parallel == "ddp" or (options.data_parallel == "auto" and run.device.type == "cuda")
    if wanted and options.batch < run.world_size:
        raise ValueError(f"--batch {options.batch} leaves some of {run.world_size} ranks without a sample")
    return wanted


def learning_rate(completed: int, options: Options) -> float:
    """Up in a line, then down along a cosine to a tenth."""
    if completed < options.warmup:
        return options.learning_rate * (completed + 1) / options.warmup
    done = min(1.0, (completed - options.warmup) / max(1, options.steps - options.warmup))
    return options.learning_rate * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def precision(device: torch.device) -> AbstractContextManager[object]:
    """bfloat16 where the device has it, which needs no loss scaling; else float32."""
    if device.type == "cuda" and torch.cuda.is_bf16_supported():
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return contextlib.nullcontext()


@torch.no_grad()
def evaluate(model: Transformer, validation: text.Text, options: Options, run: Run) -> float:
    """The mean loss of a byte over the same windows each time; each rank takes its share of them."""
    count = min(options.evaluate_windows, len(validation))
    model.eval()
    total = torch.zeros((), device=run.device)
    mine = range(run.rank, count, run.world_size)
    for part in range(0, len(mine), options.microbatch):
        windows = validation.windows(mine[part : part + options.microbatch], run.device)
        with precision(run.device):
            total += model.loss(windows)
    model.train()
    dist.all_reduce(total)
    return float(total) / (count * options.context)


if __name__ == "__main__":
    main()
