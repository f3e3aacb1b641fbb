"""Outer steps as in DiLoCo (Douillard and others, 2311.08105): ranks train independently and synchronize every N steps.

At an outer step, the mean change of the weights over all ranks is the gradient of an outer optimizer, SGD with Nesterov
momentum; all ranks continue with its result. Between outer steps no gradients are sent, and each rank has its own
weights and optimizer state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from clusterwright.runtime.gradients.allreduce import all_reduce_mean
from clusterwright.runtime.gradients.hooks import hookable
from clusterwright.runtime.gradients.mean import mean
from clusterwright.runtime.outer.settings import OuterSettings
from clusterwright.runtime.services import names


class Outer:
    """The outer optimizer: the weights of the last outer step and the momentum, equal on all ranks and saved."""

    def __init__(self, settings: OuterSettings) -> None:
        self._settings = settings
        self._parameters: dict[str, nn.Parameter] = {}
        self._group: Any = None
        self._completed = 0
        self._met: dict[str, Tensor] = {}
        self._momentum: dict[str, Tensor] = {}

    def add(self, name: str, item: Any) -> None:
        """Include a model in outer steps and turn off its gradient reduction after the warm-up.

        Other objects are ignored. (Outer steps average the weights of all ranks every N steps.)

        Raises:
            ValueError: the model is not in DistributedDataParallel, or has a comm hook of its own.
        """
        model = names.bare(item)
        if not isinstance(model, nn.Module):
            return
        wrapped = list(hookable(item))
        if dist.get_world_size() > 1 and not wrapped:
            raise ValueError(
                f"outer: {name} is not in DistributedDataParallel or has its own comm hook; fix: track the wrapper"
            )
        for wrapper in wrapped:
            self._group = wrapper.process_group
            wrapper.register_comm_hook(None, lambda _state, bucket: self._reduce(bucket.buffer()))
        trained = (
            (path, parameter) for path, parameter in model.named_parameters() if parameter.requires_grad
        )
        self._parameters.update(
            {f"{name}/{names.unwrap_name(path)}": parameter for path, parameter in trained}
        )

    def begin(self, completed: int) -> None:
        """Start outer steps after `completed` steps; weights without a resumed state start from current values."""
        self._completed = completed
        for name, parameter in self._parameters.items():
            if name not in self._met:
                self._met[name] = parameter.detach().to(torch.float32, copy=True)
                self._momentum[name] = torch.zeros_like(self._met[name])

    @torch.no_grad()
    def stepped(self, completed: int, *, last: bool) -> bool:
        """Run an outer step if one is due after this step, or if it is the last; return True if it ran; collective.

        None runs during the warm-up, in which the reference weights follow the model.
        """
        self._completed = completed
        if completed <= self._settings.warm_up:
            for name, parameter in self._parameters.items():
                self._met[name].copy_(parameter)
            return False
        if completed % self._settings.every and not last:
            return False
        moved = [(self._met[name] - parameter).flatten() for name, parameter in self._parameters.items()]
        flat = mean(torch.cat(moved), self._group, self._settings.bits)
        parts = torch.split(flat, [difference.numel() for difference in moved])
        for (name, parameter), part in zip(self._parameters.items(), parts):
            self._step(name, part.view_as(parameter))
            parameter.copy_(self._met[name])
        return True

    def state_dict(self) -> dict[str, Any]:
        """Return the outer optimizer's weights and momentum; empty before `begin`."""
        return {"met": dict(self._met), "momentum": dict(self._momentum)} if self._met else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load the outer optimizer's weights and momentum; models missing in the state are left to `begin`."""
        for name, parameter in self._parameters.items():
            if name in state.get("met", {}):
                self._met[name] = state["met"][name].to(parameter.device)
                self._momentum[name] = state["momentum"][name].to(parameter.device)

    def _reduce(self, buffer: Tensor) -> Any:
        """Return a future of a bucket's mean over all ranks during the warm-up, later of the unreduced bucket."""
        if self._completed < self._settings.warm_up:
            return all_reduce_mean(buffer, self._group)
        future: Any = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else [])
        future.set_result(buffer)
        return future

    def _step(self, name: str, gradient: Tensor) -> None:
        """Update one reference weight by the averaged change `gradient`, as torch.optim.SGD does with nesterov=True."""
        momentum = self._momentum[name].mul_(self._settings.momentum).add_(gradient)
        self._met[name].sub_(gradient + self._settings.momentum * momentum, alpha=self._settings.lr)
