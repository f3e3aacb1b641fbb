"""Data parallelism: every rank takes its share of a step's samples, and gradients are summed over the ranks.

Flat: each gradient is a view into one buffer, and one all-reduce after the backward pass sums it. Overlapped:
torch's DistributedDataParallel sends bucket by bucket while the backward pass still runs, which pays on GPUs
and large models; it imports torch._dynamo when it is made (2.0 s, see adamw.py), so it is not for every run.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn

from clusterwright.train.recipes.transformer import Transformer


class Flat:
    """The gradients of all parameters side by side, and one more number summed with them: the loss."""

    def __init__(self, model: Transformer) -> None:
        parameters = list(model.parameters())
        self._model = model
        self._flat = torch.zeros(sum(p.numel() for p in parameters) + 1, device=parameters[0].device)
        start = 0
        for parameter in parameters:
            parameter.grad = self._flat[start : start + parameter.numel()].view_as(parameter)
            start += parameter.numel()

    def share(self, *, last: bool) -> AbstractContextManager[object]:  # noqa: ARG002 (Overlapped's matter)
        """Around the passes of one microbatch; `last` of this rank's share."""
        return nullcontext()

    def loss(self, windows: Tensor) -> Tensor:
        """The model's loss over the windows."""
        return self._model.loss(windows)

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


class Overlapped(Flat):
    """The same by torch's DistributedDataParallel. Each rank must have at least one sample of each step."""

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        self._ddp = nn.parallel.DistributedDataParallel(_Loss(model))

    def share(self, *, last: bool) -> AbstractContextManager[object]:
        """Nothing is sent before the last microbatch, then everything that was added up."""
        return nullcontext() if last else self._ddp.no_sync()

    def loss(self, windows: Tensor) -> Tensor:
        """The model's loss over the windows, by way of what sends the gradients."""
        loss: Tensor = self._ddp(windows)
        return loss

    def sum_over_ranks(self) -> Tensor:
        """Gradients arrive as a mean over the ranks, and become the sum; returns the sum of the loss."""
        self._flat[:-1] *= dist.get_world_size()
        dist.all_reduce(self._flat[-1:])
        return self._flat[-1].clone()


class _Loss(nn.Module):
    """The loss as a forward pass: only that is watched by DistributedDataParallel."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, windows: Tensor) -> Tensor:
        """The model's loss over the windows."""
        return self.model.loss(windows)
