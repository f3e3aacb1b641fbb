"""Outer steps, as in DiLoCo (Douillard and others, 2311.08105): ranks step by themselves, and meet each N steps.

When they meet, what all of them moved on the mean is the gradient of an outer optimiser, SGD with Nesterov's momentum;
what it comes to is where all go on. Between two meetings no gradient travels, and ranks have weights and moments of
their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from clusterwright.runtime.gradients.hooks import hookable
from clusterwright.runtime.gradients.mean import mean
from clusterwright.runtime.gradients.plain import as_it_is
from clusterwright.runtime.outer.told import Told
from clusterwright.runtime.services import names


class Outer:
    """The weights where ranks met last, and the momentum: the same on all ranks, saved and resumed with the rest."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._parameters: dict[str, nn.Parameter] = {}
        self._group: Any = None
        self._completed = 0
        self._met: dict[str, Tensor] = {}
        self._momentum: dict[str, Tensor] = {}

    def add(self, name: str, each: Any) -> None:
        """This model's ranks meet, if it is one; its gradients stay where they are.

        Raises:
            ValueError: its gradients travel in a way that cannot be stopped.
        """
        model = names.bare(each)
        if not isinstance(model, nn.Module):
            return
        wrapped = list(hookable(each))
        if dist.get_world_size() > 1 and not wrapped:
            raise ValueError(
                f"outer: {name} is not in DistributedDataParallel, or has a hook of its own: track what wraps it"
            )
        for one in wrapped:
            self._group = one.process_group
            one.register_comm_hook(None, lambda _state, bucket: self._reduce(bucket.buffer()))
        trained = ((path, one) for path, one in model.named_parameters() if one.requires_grad)
        self._parameters.update({f"{name}/{names.plain(path)}": one for path, one in trained})

    def begin(self, completed: int) -> None:
        """The first step after these comes; weights that were not resumed are those to begin with."""
        self._completed = completed
        for name, each in self._parameters.items():
            if name not in self._met:
                self._met[name] = each.detach().to(torch.float32, copy=True)
                self._momentum[name] = torch.zeros_like(self._met[name])

    @torch.no_grad()
    def stepped(self, completed: int, *, last: bool) -> bool:
        """A step is complete; whether the ranks met."""
        self._completed = completed
        if completed <= self._told.warm_up:
            for name, each in self._parameters.items():
                self._met[name].copy_(each)
            return False
        if completed % self._told.every and not last:
            return False
        moved = [(self._met[name] - each).flatten() for name, each in self._parameters.items()]
        flat = mean(torch.cat(moved), self._group, self._told.bits)
        parts = torch.split(flat, [each.numel() for each in moved])
        for (name, each), part in zip(self._parameters.items(), parts):
            self._step(name, part.view_as(each))
            each.copy_(self._met[name])
        return True

    def state_dict(self) -> dict[str, Any]:
        """Nothing before the first step."""
        return {"met": dict(self._met), "momentum": dict(self._momentum)} if self._met else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with this; with nothing, from the weights as they are."""
        for name, each in self._parameters.items():
            if name in state.get("met", {}):
                self._met[name] = state["met"][name].to(each.device)
                self._momentum[name] = state["momentum"][name].to(each.device)

    def _reduce(self, buffer: Tensor) -> Any:
        """Torch takes the bucket for added up; in the warm-up it is."""
        if self._completed < self._told.warm_up:
            return as_it_is(buffer, self._group)
        future: Any = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else [])
        future.set_result(buffer)
        return future

    def _step(self, name: str, gradient: Tensor) -> None:
        """As torch.optim.SGD with nesterov=True."""
        momentum = self._momentum[name].mul_(self._told.momentum).add_(gradient)
        self._met[name].sub_(gradient + self._told.momentum * momentum, alpha=self._told.lr)
