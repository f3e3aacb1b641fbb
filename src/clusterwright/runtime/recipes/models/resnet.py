"""ResNet-18, 34, 50 and 101 (1512.03385), with the stride in the 3x3 convolution. Names are torchvision's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn


class SharedNorm(nn.BatchNorm2d):
    """Batch norm with mean and variance over all ranks, so that results do not depend on their number."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x (B, C, height, width) normalized, in training by mean and variance over all ranks.

        Collective in training. In evaluation by the running statistics.
        """
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
        """Update the running statistics for evaluations, with the unbiased variance, as torch does."""
        share = self.momentum or 0.1
        if self.running_mean is not None and self.running_var is not None:
            self.running_mean.lerp_(mean, share)
            self.running_var.lerp_(variance, share)


class _Sum(torch.autograd.Function):
    """All-reduce sum, whose gradient is a sum over the ranks, too, as each rank's loss depends on it."""

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


DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}
NORMS: dict[str, Callable[[int], nn.Module]] = {
    "batch": nn.BatchNorm2d,
    "shared": SharedNorm,
    "group": lambda channels: nn.GroupNorm(min(32, channels), channels),
}
_BOTTLENECK = 50  # minimum depth
_SMALL = 64  # pixels; smaller images skip the two halvings before the first block


class Block(nn.Module):
    """Two 3x3 convolutions, or a bottleneck of 1x1, 3x3 and 1x1, with a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int, kind: tuple[bool, str]) -> None:
        super().__init__()
        bottleneck, norm = kind[0], NORMS[kind[1]]
        outputs = width * (4 if bottleneck else 1)
        strides = (1, stride, 1) if bottleneck else (stride, 1)
        sides = (1, 3, 1) if bottleneck else (3, 3)
        channels = (inputs, width, width, outputs) if bottleneck else (inputs, width, outputs)
        self.count = len(sides)
        for n, (side, step) in enumerate(zip(sides, strides)):
            self.add_module(f"conv{n + 1}", _convolution(channels[n], channels[n + 1], side, step))
            self.add_module(f"bn{n + 1}", norm(channels[n + 1]))
        needs_projection = stride != 1 or inputs != outputs
        shortcut = (
            nn.Sequential(_convolution(inputs, outputs, 1, stride), norm(outputs))
            if needs_projection
            else None
        )
        self.downsample = shortcut

    def forward(self, x: Tensor) -> Tensor:
        """Return the ReLU of the sum of the block's convolutions and its shortcut."""
        shortcut = self.downsample(x) if self.downsample is not None else x
        for n in range(1, self.count + 1):
            x = getattr(self, f"bn{n}")(getattr(self, f"conv{n}")(x))
            x = F.relu(x) if n < self.count else x
        return F.relu(x + shortcut)


class ResNet(nn.Module):
    """The model: takes images (B, C, height, width), returns logits per class."""

    def __init__(
        self,
        depth: int,
        classes: int,
        *,
        channels: int = 3,
        image: int = 224,
        width: int = 64,
        norm: str = "batch",
    ) -> None:
        super().__init__()
        if depth not in DEPTHS or norm not in NORMS:
            raise ValueError(
                f"resnet {depth} with norm {norm}: depth must be one of {list(DEPTHS)}, norm one of {', '.join(NORMS)}"
            )
        small, kind = image < _SMALL, (depth >= _BOTTLENECK, norm)
        self.conv1 = _convolution(channels, width, 3 if small else 7, 1 if small else 2)
        self.bn1 = NORMS[norm](width)
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, 2, 1)
        inputs = width
        for stage, blocks in enumerate(DEPTHS[depth]):
            stage_blocks = []
            for number in range(blocks):
                stride = 2 if stage and not number else 1
                stage_blocks.append(Block(inputs, width << stage, stride, kind))
                inputs = (width << stage) * (4 if kind[0] else 1)
            self.add_module(f"layer{stage + 1}", nn.Sequential(*stage_blocks))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits (B, classes) for images (B, C, height, width)."""
        x = self.maxpool(F.relu(self.bn1(self.conv1(images))))
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
        scores: Tensor = self.fc(x.mean((2, 3)))
        return scores


def _convolution(inputs: int, outputs: int, side: int, stride: int) -> nn.Conv2d:
    convolution = nn.Conv2d(inputs, outputs, side, stride, side // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return convolution
