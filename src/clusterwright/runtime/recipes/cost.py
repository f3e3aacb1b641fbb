"""How many floating-point operations a training owes a sample: counted in one pass over one, as torch counts them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


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
    sizes = [(each.numel(), each.requires_grad) for each in model.parameters()]
    trained = sum(size for size, does in sizes if does) / sum(size for size, _ in sizes)
    return float(counter.get_total_flops() * (2 + trained))
