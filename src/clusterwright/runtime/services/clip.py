"""The norm of all gradients, and their clipping to one, also where each rank holds a part of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

_EPSILON = 1e-6  # as torch.nn.utils.clip_grad_norm_ adds


@torch.no_grad()
def clip(parameters: Iterable[Tensor], largest: float, stages: Any = None) -> Tensor:
    """Scale the gradients down to this 2-norm if they exceed it; returns the norm before, the same on all ranks.

    Works on plain tensors and on DTensors of any meshes. `stages` is the group of the pipeline's stages, each of which
    has parameters of its own. Unlike torch's function it takes all kinds together.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = _norm(gradients, stages)
    scale = (largest / (norm + _EPSILON)).clamp(max=1.0)
    for gradient in gradients:
        _local(gradient).mul_(scale)
    return norm


def _norm(gradients: list[Tensor], stages: Any) -> Tensor:
    """Squares are summed over those groups of ranks whose members hold different parts."""
    total = torch.zeros((), device=_local(gradients[0]).device if gradients else None)
    for groups, parts in _by_groups(gradients):
        square = torch.stack(torch._foreach_norm(parts)).float().square().sum()  # noqa: SLF001 (as torch's own does)
        for group in groups:
            dist.all_reduce(square, group=group)
        total += square
    if stages is not None:
        dist.all_reduce(total, group=stages)
    return total.sqrt()


def _by_groups(gradients: list[Tensor]) -> list[tuple[list[Any], list[Tensor]]]:
    """Gradients that are sharded over the same groups, together; in the same order on all ranks."""
    parts_by_groups: dict[tuple[int, ...], tuple[list[Any], list[Tensor]]] = {}
    for gradient in gradients:
        groups = _sharded_over(gradient)
        parts_by_groups.setdefault(tuple(map(id, groups)), (groups, []))[1].append(_local(gradient))
    return list(parts_by_groups.values())


def _sharded_over(gradient: Any) -> list[Any]:
    if not hasattr(gradient, "placements"):
        return []
    mesh = gradient.device_mesh
    if any(placement.is_partial() for placement in gradient.placements):
        raise ValueError("a gradient is a sum that is not made yet: clip after the last backward pass")
    return [
        mesh.get_group(dim)
        for dim, placement in enumerate(gradient.placements)
        if not placement.is_replicate()
    ]


def _local(gradient: Any) -> Tensor:
    local: Tensor = gradient.to_local() if hasattr(gradient, "to_local") else gradient
    return local
