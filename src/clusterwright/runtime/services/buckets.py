"""Gradients lie in the same places in a resumed training as in one that nothing happened to.

A ring adds up what lies in different places in different orders, and floating-point sums differ by their order.
DistributedDataParallel lays gradients out anew once, after its first step, in the order in which they arrived; a
resumed training would do its first step with the first layout, and from then on differ in the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime.services import names


def settle(model: Any) -> None:
    """Have DistributedDataParallel lay its gradients out for good, before the first step; on all ranks together.

    It is shown gradients of zero, the last parameter's first, and lays out anew at its next forward pass. Where it
    never does (`find_unused_parameters`), nothing is done; nor with `static_graph` or its own `mixed_precision`,
    whose resumed trainings agree closely, not bit for bit.
    """
    for layer in names.layers(model):
        if isinstance(layer, DistributedDataParallel) and not _special(layer):
            _show_zeros(layer)


def _special(model: DistributedDataParallel) -> bool:
    return bool(model.find_unused_parameters or model.static_graph or model.mixed_precision)


def _show_zeros(model: DistributedDataParallel) -> None:
    trained = [parameter for parameter in model.module.parameters() if parameter.requires_grad]
    gradients = [parameter.grad for parameter in trained]
    _set_gradients(trained, [None] * len(trained))
    module, broadcasts = model.module, model.broadcast_buffers
    model.module, model.broadcast_buffers = _Touching(trained), False
    try:
        forward: Any = model.forward  # not the call, which torch.compile may have replaced
        torch.autograd.backward(forward())
    finally:
        model.module, model.broadcast_buffers = module, broadcasts
        _set_gradients(trained, gradients)


def _set_gradients(parameters: Sequence[nn.Parameter], gradients: Sequence[torch.Tensor | None]) -> None:
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient


class _Touching(nn.Module):
    """Stands for a model: uses its parameters, in order, and is zero whatever they hold."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        super().__init__()
        self._used = tuple(parameters)  # no parameters of its own

    def forward(self) -> list[torch.Tensor]:
        """One zero for each parameter; gradients arrive from the last to the first."""
        return [parameter.sum() * 0 for parameter in self._used]
