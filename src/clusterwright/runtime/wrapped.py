"""The model that an optimiser's weights belong to, where nobody has told us of it: found once, among all objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from clusterwright.runtime.exposed import Exposed, clock


def exposed(optimizer: Optimizer) -> Exposed:
    """What measures the communication of this training, after its first step; alone where there is one rank."""
    weights = {id(each): each for group in optimizer.param_groups for each in group["params"]}
    several = dist.is_available() and dist.is_initialized()
    first = next(iter(weights.values()))
    found = Exposed(dist.get_world_size() if several else 1, clock(first.device))
    for each in _owners(set(weights)) if several else ():
        found.watch(each)
    return found


def _owners(weights: set[int]) -> list[nn.Module]:
    """Those in DistributedDataParallel; else the outermost, which says how it is cut."""
    models = [each for each in _models() if _holds(each, weights)]
    parallel: list[nn.Module] = [each for each in models if isinstance(each, DistributedDataParallel)]
    return parallel or sorted(models, key=_size)[-1:]


def _holds(model: nn.Module, weights: set[int]) -> bool:
    try:
        return any(id(one) in weights for one in model.parameters())
    except Exception:  # noqa: BLE001 (one run's damaged files are no reason to leave out all others)
        return False


def _size(model: nn.Module) -> int:
    return sum(1 for _ in model.modules())


def _models() -> Iterator[nn.Module]:
    """Asked for their true class: others pretend to have one, and import what it takes."""
    return (each for each in gc.get_objects() if _is_model(each))


def _is_model(each: Any) -> bool:
    return issubclass(type(each), nn.Module)
