"""Activation checkpointing: layers that keep only their input, and compute the rest again in the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from torch import nn
from torch.utils.checkpoint import checkpoint


def recompute(model: nn.Module, *, every: int = 1, layers: Iterable[nn.Module] | None = None) -> nn.Module:
    """Let every n-th layer be computed again; returns the model.

    Layers are the members of each outermost ModuleList or Sequential, unless they are given. Random states are kept,
    so that a dropout drops the same again; names in a state_dict stay as they are. Before `fully_shard` and `compile`.

    Raises:
        ValueError: no layers are found.
    """
    targets = list(layers) if layers is not None else list(_layers(model))
    if not targets or every < 1:
        raise ValueError(
            f"every {every} of {len(targets)} layers of {type(model).__name__}: say layers=[...], and every=1 or more"
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
