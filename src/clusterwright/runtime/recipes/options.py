"""Command-line options of recipes: a dataclass with a field per option."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound="Common")


@dataclass(frozen=True)
class Common:
    """Options of all recipes."""

    steps: int = 300
    batch: int = 32  # samples per step, over all ranks
    microbatch: int = 8  # samples per forward pass
    learning_rate: float = 3e-3
    warmup: int = 20  # steps until the learning rate is reached
    weight_decay: float = 0.1  # as in GPT-3 (appendix B), like the betas and the clipping
    clip: float = 1.0
    seed: int = 1
    evaluate_every: int = 100
    evaluate_samples: int = 64
    precision: str = "auto"  # or bf16, fp16, none
    compile: bool = False  # torch.compile: costs a minute at the start, saves milliseconds per step
    folder: str = ""  # folder of events and checkpoints without a launcher


def parse(kind: type[Kind], arguments: Sequence[str] | None) -> Kind:
    """Return the options of a recipe, a dataclass `kind`, from a command line; None: that of this process.

    A job file's `arguments` are passed as `--name=value`. On a bad argument the process exits.
    """
    parser = argparse.ArgumentParser(prog=kind.__module__.rpartition(".")[2])
    for field in fields(kind):
        names = sorted({f"--{field.name}", f"--{field.name.replace('_', '-')}"})
        default: Any = field.default
        if isinstance(default, bool):
            parser.add_argument(*names, dest=field.name, action="store_true")
        else:
            parser.add_argument(*names, dest=field.name, type=type(default), default=default)
    return kind(**vars(parser.parse_args(arguments)))
