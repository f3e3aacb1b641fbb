"""Gives a resumed training the same gradient bucket layout as an uninterrupted one, for bitwise equal results.

A ring all-reduce sums different positions in different orders, and floating-point sums depend on the order.
DistributedDataParallel rebuilds its buckets once, after its first step, in the order in which gradients arrived; a
resumed training would do its first step with the initial layout, and from then on differ in the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime.services import names


def settle(model: Any) -> None:
    """Make DistributedDataParallel rebuild its buckets before the first step; call it on all ranks.

    It gets zero gradients, the last parameter's first, and rebuilds at its next forward pass. Skipped with
    `find_unused_parameters`, which never rebuilds, and with `static_graph` or its own `mixed_precision`, whose
    resumed trainings agree closely but not bitwise.
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
    """A stand-in for a model that uses all its parameters in order and outputs zeros."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        super().__init__()
        self._used = tuple(parameters)  # no parameters of its own

    def forward(self) -> list[torch.Tensor]:
        """Return one zero tensor for each parameter; gradients arrive from the last parameter to the first."""
        return [parameter.sum() * 0 for parameter in self._used]
