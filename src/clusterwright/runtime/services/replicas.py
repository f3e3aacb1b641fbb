"""Which ranks hold the same weights, and which of them is the odd one out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import torch


def holders(
    tensors: Iterable[Any], rank: int, dimensions: Mapping[str, int]
) -> dict[tuple[int, ...], list[Any]]:
    """The tensors by the ranks that hold the same as this one, where there are any others.

    A DTensor says so itself; a plain one is the same on all ranks that differ in `dp_replicate` alone. What is on the
    device `meta` is held elsewhere.
    """
    mesh = torch.arange(torch.Size(dimensions.values()).numel()).view(tuple(dimensions.values()))
    replicated = [name == "dp_replicate" for name in dimensions]
    found: dict[tuple[int, ...], list[Any]] = {}
    for each in tensors:
        if each.is_meta:
            continue
        if hasattr(each, "placements"):
            ranks = _alike(each.device_mesh.mesh, [one.is_replicate() for one in each.placements], rank)
        else:
            ranks = _alike(mesh, replicated, rank)
        if len(ranks) > 1:
            found.setdefault(ranks, []).append(each)
    return found


def odd(sums: Mapping[int, object]) -> tuple[tuple[int, ...], bool]:
    """The ranks whose sum is not that of the majority, and True; without a majority all of them, and False."""
    value, votes = Counter(sums.values()).most_common(1)[0]
    if 2 * votes <= len(sums) and votes < len(sums):
        return tuple(sums), False
    return tuple(rank for rank, each in sums.items() if each != value), True


def _alike(mesh: torch.Tensor, replicated: list[bool], rank: int) -> tuple[int, ...]:
    place = (mesh == rank).nonzero()[0].tolist()
    where = tuple(slice(None) if free else at for free, at in zip(replicated, place))
    return tuple(mesh[where].flatten().tolist())
