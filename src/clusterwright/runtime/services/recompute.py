"""Activation checkpointing: layers store only their input and recompute activations in the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from torch import nn
from torch.utils.checkpoint import checkpoint


def recompute(model: nn.Module, *, every: int = 1, layers: Iterable[nn.Module] | None = None) -> nn.Module:
    """Make every n-th layer of a model recompute its activations in the backward pass; return the model.

    Default layers: the members of each outermost ModuleList or Sequential. Random states are restored, so that
    dropout is repeated; state_dict names do not change. Call it before `fully_shard` and `compile`.

    Raises:
        ValueError: the model has no such layers, or `every` is less than 1.
    """
    targets = list(layers) if layers is not None else list(_layers(model))
    if not targets or every < 1:
        raise ValueError(
            f"{len(targets)} layers of {type(model).__name__}, every={every}; fix: pass layers=[...], every >= 1"
        )
    for layer in targets[::every]:
        layer.forward = functools.partial(checkpoint, layer.forward, use_reentrant=False)
    return model


def _layers(model: nn.Module) -> Iterable[nn.Module]:
    for child in [model] if isinstance(model, nn.Sequential) else model.children():
        if isinstance(child, (nn.ModuleList, nn.Sequential)):
            yield from child
        else:
            yield from _layers(child)
