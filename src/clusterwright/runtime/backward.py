"""Hooks on a DistributedDataParallel model: when the local gradients are computed, and when all are reduced.

Between the two a rank only waits for others. The first pass has a hook on each weight, to find the one whose gradient
comes last; from then on that weight alone has a hook, until a step passes without its gradient. The second moment
is a final callback of torch's autograd engine. These run in the order in which they were queued: one queued from
within a callback runs after DistributedDataParallel's own, which waits for the reduction. No comm hook is used.
Compiled backward passes (torch's compiled autograd) have no such moments and are not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from weakref import ref

import torch
from torch import nn


class Backward:
    """Calls `ready` and `complete` in each backward pass; a searching pass calls `ready` once per weight."""

    def __init__(self, model: nn.Module, ready: Callable[[], None], complete: Callable[[], None]) -> None:
        self._model = ref(model)  # weak, so that a script can free the model and its GPU memory
        self._ready, self._complete = ready, complete
        self._hooks: list[Any] = []
        self._last: Any = None
        self._is_searching = self._callback_queued = self._pass_completed = False
        self._search()

    def stepped(self) -> None:
        """End a step of the hooks on backward passes; search for the last weight again if none ran in it.

        That is, if no hook for the last weight's gradient ran in the step.
        """
        if not self._pass_completed and not self._is_searching:
            self._search()
        self._callback_queued = self._pass_completed = False

    def close(self) -> None:
        """Remove all gradient hooks from the model's weights."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _search(self) -> None:
        model = self._model()
        if model is not None:
            self._is_searching = True
            self._hook(model.parameters())

    def _hook(self, weights: Iterable[Any]) -> None:
        self.close()
        learn = [weight for weight in weights if weight.requires_grad]  # frozen weights may train later
        self._hooks = [weight.register_post_accumulate_grad_hook(self._gradient) for weight in learn]

    def _gradient(self, weight: Any) -> None:
        if torch.compiler.is_compiling():
            return
        self._last = weight
        self._ready()
        if not self._callback_queued:
            self._callback_queued = True
            with suppress(RuntimeError):  # no backward pass is running: other code called the hook
                _call_back(self._queue_final_callback)

    def _queue_final_callback(self) -> None:
        _call_back(self._all)

    def _all(self) -> None:
        self._callback_queued, self._pass_completed = False, True
        self._complete()
        if self._is_searching:
            self._is_searching = False
            self._hook([self._last])
        self._last = None


def _call_back(called: Callable[[], None]) -> None:
    """Queue a callback for the end of the running backward pass, as torch's FSDP does."""
    torch.autograd.Variable._execution_engine.queue_callback(called)  # noqa: SLF001 (no public API)
