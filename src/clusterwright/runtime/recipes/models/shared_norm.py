"""Batch normalisation over the samples of all ranks: torch's own does that on GPUs alone."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


class SharedNorm(nn.BatchNorm2d):
    """Mean and variance are those of what all ranks see in this pass, so the number of ranks changes nothing."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise x (B, C, height, width)."""
        if not self.training or not dist.is_initialized():
            return super().forward(x)
        sums = torch.cat((x.sum((0, 2, 3)), (x * x).sum((0, 2, 3)), x.new_tensor([x.numel() / x.shape[1]])))
        total: Tensor = _Sum.apply(sums.float())  # type: ignore[no-untyped-call]  # (torch's)
        count = total[-1]
        mean, square = (total[:-1] / count).chunk(2)
        variance = square - mean * mean
        self._remember(mean.detach(), (variance * count / (count - 1)).detach())
        scale = self.weight * torch.rsqrt(variance + self.eps)
        shift = self.bias - mean * scale
        return x * scale[:, None, None] + shift[:, None, None]

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        """As torch does: unbiased, and for evaluations alone."""
        share = self.momentum or 0.1
        if self.running_mean is not None and self.running_var is not None:
            self.running_mean.lerp_(mean, share)
            self.running_var.lerp_(variance, share)


class _Sum(torch.autograd.Function):
    """A sum over the ranks, of which each rank's loss is a part: its gradient is a sum over them, too."""

    @staticmethod
    def forward(_ctx: Any, x: Tensor) -> Tensor:
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.contiguous()
        dist.all_reduce(total)
        return total
