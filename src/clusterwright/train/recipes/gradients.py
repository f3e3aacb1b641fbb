"""Data parallelism in one buffer: each gradient is a view into it, and one all-reduce sums it over the ranks.

torch's DistributedDataParallel overlaps that sum with the backward pass, which pays on large models, and
imports torch._dynamo when it is made (2.0 s, see adamw.py). On a model as small as this there is nothing to
overlap.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor


class Gradients:
    """The gradients of all parameters side by side, and one more number summed with them: the loss."""

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        parameters = list(parameters)
        self._flat = torch.zeros(sum(p.numel() for p in parameters) + 1, device=parameters[0].device)
        start = 0
        for parameter in parameters:
            parameter.grad = self._flat[start : start + parameter.numel()].view_as(parameter)
            start += parameter.numel()

    def clear(self) -> None:
        """Zero; backward passes add to it."""
        self._flat.zero_()

    def add_loss(self, loss: Tensor) -> None:
        """Add the loss of a microbatch to what will be summed."""
        self._flat[-1] += loss.detach()

    def sum_over_ranks(self) -> Tensor:
        """Sum gradients and loss over all ranks; returns the loss."""
        dist.all_reduce(self._flat)
        return self._flat[-1].clone()

    def clip(self, largest_norm: float) -> None:
        """Scale the gradients down to a norm, if they exceed it."""
        norm = torch.linalg.vector_norm(self._flat[:-1])
        self._flat *= (largest_norm / (norm + 1e-6)).clamp(max=1.0)  # 1e-6: as torch's clip_grad_norm_
