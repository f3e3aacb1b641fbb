"""State dicts with the same parameter names whatever wraps the model: DistributedDataParallel, torch.compile."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

_COMPILED = "_orig_mod"  # torch.compile(model) puts the model here
_WRAPPED = (f"{_COMPILED}.", "_checkpoint_wrapped_module.")  # likewise torch's checkpoint_wrapper


def layers(item: Any) -> Iterator[Any]:
    """Yield the object and what it wraps, through DistributedDataParallel and torch.compile, down to the model."""
    while item is not None:
        yield item
        item = _inside(item)


def bare(item: Any) -> Any:
    """Return the model inside DistributedDataParallel and torch.compile; the object itself if it is not wrapped."""
    return list(layers(item))[-1]


def state(item: Any) -> Any:
    """Return an object's state dict; a model's without the prefixes of wrappers.

    An optimizer's has `meta` tensors for the weights that other ranks hold.
    """
    values = _full_state(item)
    if isinstance(item, torch.optim.Optimizer):
        moments = {**_of_others(item), **values["state"]}
        return {**values, "state": dict(sorted(moments.items()))}  # in the same order on all ranks
    return (
        {unwrap_name(name): value for name, value in values.items()}
        if isinstance(item, nn.Module)
        else values
    )


def _full_state(item: Any) -> Any:
    """Return an object's state dict with the parts of all ranks, which FairScale's OSS collects on request."""
    if hasattr(item, "consolidate_state_dict") and "all_ranks" in signature(item.state_dict).parameters:
        return item.state_dict(all_ranks=True)
    return item.state_dict()


def load(item: Any, saved: Any) -> None:
    """Load a state from `state` into a model, optimizer or other object, even if it is wrapped differently now.

    Optimizer state of weights on `meta` is dropped.
    """
    if isinstance(item, nn.Module):
        wrapped_names = {unwrap_name(name): name for name in item.state_dict()}
        saved = {wrapped_names.get(name, name): value for name, value in saved.items()}
    item.load_state_dict(saved)
    if isinstance(item, torch.optim.Optimizer):
        for weight in [weight for weight in item.state if weight.is_meta]:
            del item.state[weight]
        _match_strides(item)


def _of_others(optimizer: torch.optim.Optimizer) -> dict[int, Any]:
    """Return placeholders for the optimizer state of weights on other ranks (device `meta` here), by weight index.

    They resemble the state of any weight here; empty if no weight here has state.
    """
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    reference = next(
        (weight for weight in weights if not weight.is_meta and optimizer.state.get(weight)), None
    )
    if reference is None:
        return {}
    return {
        number: {name: _like(value, reference, weight) for name, value in optimizer.state[reference].items()}
        for number, weight in enumerate(weights)
        if weight.is_meta
    }


def _like(value: Any, reference: torch.Tensor, weight: torch.Tensor) -> Any:
    """Return a `meta` tensor for the optimizer state of a weight on another rank; other values as they are.

    The state `value` belongs to the weight `reference`.
    """
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty(
        weight.shape if value.shape == reference.shape else value.shape, dtype=value.dtype, device="meta"
    )


def _match_strides(optimizer: torch.optim.Optimizer) -> None:
    """Give optimizer state the strides of its weights: fused optimizers require it, and saved tensors are row-major."""
    for weight, moments in optimizer.state.items():
        for name, value in moments.items():
            alike = isinstance(value, torch.Tensor) and value.shape == weight.shape
            if alike and value.stride() != weight.stride():
                moments[name] = torch.empty_like(weight, dtype=value.dtype).copy_(value)


def unwrap_name(name: str) -> str:
    """Return a parameter's name without the prefixes of wrappers."""
    for prefix in _WRAPPED:
        name = name.replace(prefix, "")
    return name


def _inside(item: Any) -> Any:
    if isinstance(item, DistributedDataParallel):
        return item.module
    if isinstance(item, nn.Module):
        return item._modules.get(_COMPILED)  # noqa: SLF001 (its class is in torch._dynamo, two seconds to import)
    return None
