"""A model has the same names in a checkpoint, whatever it is wrapped in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

_COMPILED = "_orig_mod"  # torch.compile(model) puts the model here
_WRAPPED = (f"{_COMPILED}.", "_checkpoint_wrapped_module.")  # likewise torch's checkpoint_wrapper


def layers(each: Any) -> Iterator[Any]:
    """The object, and what is in it: DistributedDataParallel and torch.compile, in whichever order, then the model."""
    while each is not None:
        yield each
        each = _inside(each)


def bare(each: Any) -> Any:
    """The model inside DistributedDataParallel and torch.compile."""
    return list(layers(each))[-1]


def state(each: Any) -> Any:
    """The state of an object; of a model, under plain names."""
    found = each.state_dict()
    if isinstance(each, torch.optim.Optimizer):
        moments = {**_of_others(each), **found["state"]}
        return {**found, "state": dict(sorted(moments.items()))}  # in the same order on all ranks
    return {plain(name): value for name, value in found.items()} if isinstance(each, nn.Module) else found


def load(each: Any, saved: Any) -> None:
    """Give an object the state that `state` gave, even if it is wrapped otherwise now."""
    if isinstance(each, nn.Module):
        own = {plain(name): name for name in each.state_dict()}
        saved = {own.get(name, name): value for name, value in saved.items()}
    each.load_state_dict(saved)
    if isinstance(each, torch.optim.Optimizer):
        for weight in [weight for weight in each.state if weight.is_meta]:
            del each.state[weight]
        _lay_out(each)


def _of_others(optimizer: torch.optim.Optimizer) -> dict[int, Any]:
    """The moments of weights that other ranks hold (on the device `meta` here), by number: names and shapes alone."""
    weights = [each for group in optimizer.param_groups for each in group["params"]]
    own = next((each for each in weights if not each.is_meta and optimizer.state.get(each)), None)
    if own is None:
        return {}
    return {
        number: {name: _like(value, own, each) for name, value in optimizer.state[own].items()}
        for number, each in enumerate(weights)
        if each.is_meta
    }


def _like(value: Any, own: torch.Tensor, other: torch.Tensor) -> Any:
    """What stands for a moment of another weight."""
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty(
        other.shape if value.shape == own.shape else value.shape, dtype=value.dtype, device="meta"
    )


def _lay_out(optimizer: torch.optim.Optimizer) -> None:
    """Moments lie in memory as their weights do; fused optimisers take that for granted, and a save is in rows."""
    for weight, moments in optimizer.state.items():
        for name, value in moments.items():
            alike = isinstance(value, torch.Tensor) and value.shape == weight.shape
            if alike and value.stride() != weight.stride():
                moments[name] = torch.empty_like(weight, dtype=value.dtype).copy_(value)


def plain(name: str) -> str:
    """A parameter's name without what wrapping adds."""
    for each in _WRAPPED:
        name = name.replace(each, "")
    return name


def _inside(each: Any) -> Any:
    if isinstance(each, DistributedDataParallel):
        return each.module
    if isinstance(each, nn.Module):
        return each._modules.get(_COMPILED)  # noqa: SLF001 (its class is in torch._dynamo, two seconds to import)
    return None
