"""Gradient clipping by global norm, also for sharded models and pipeline stages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

_EPSILON = 1e-6  # as torch.nn.utils.clip_grad_norm_ adds


@torch.no_grad()
def clip(parameters: Iterable[Tensor], largest: float, stages: Any = None) -> Tensor:
    """Scale the gradients down if their 2-norm exceeds `largest`; return the norm before, equal on all ranks.

    Accepts plain tensors and DTensors of different meshes together, unlike torch's function. `stages` is the process
    group of the pipeline's stages, each of which has its own parameters.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = _norm(gradients, stages)
    scale = (largest / (norm + _EPSILON)).clamp(max=1.0)
    for gradient in gradients:
        _local(gradient).mul_(scale)
    return norm


def _norm(gradients: list[Tensor], stages: Any) -> Tensor:
    """Return the 2-norm of all gradients over all ranks; collective.

    Squares are summed over the groups of ranks that hold different shards.
    """
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
    """Return the gradients' local parts by the process groups they are sharded over, in the same order on all ranks."""
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
        raise ValueError(
            "a gradient is not reduced yet (Partial placement); fix: clip after the last backward pass"
        )
    return [
        mesh.get_group(dim)
        for dim, placement in enumerate(gradient.placements)
        if not placement.is_replicate()
    ]


def _local(gradient: Any) -> Tensor:
    local: Tensor = gradient.to_local() if hasattr(gradient, "to_local") else gradient
    return local
