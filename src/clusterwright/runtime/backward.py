"""When a rank's own gradients are there, and when those of all ranks are: between the two it only waits for others.

Of a model in DistributedDataParallel. Which weight's gradient comes last is looked for in its first pass, with a hook
on each; from then on that one alone has a hook, until a step goes by without its gradient. The other moment is told by
torch's engine, which calls back in the order in which it was asked: who asks in a call back comes after
DistributedDataParallel's own, in which gradients of others are waited for. No hook of communication is taken.
A backward pass that is compiled (torch's compiled autograd) has no such moments, and is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from weakref import ref

import torch
from torch import nn


class Backward:
    """Calls `ready` and `complete` at these moments, in each backward pass; while it looks, `ready` more than once."""

    def __init__(self, model: nn.Module, ready: Callable[[], None], complete: Callable[[], None]) -> None:
        self._model = ref(model)  # which a script may let go of, and its GPU's memory with it
        self._ready, self._complete = ready, complete
        self._hooks: list[Any] = []
        self._last: Any = None
        self._is_searching = self._callback_queued = self._pass_completed = False
        self._search()

    def stepped(self) -> None:
        """An optimiser step is complete; without that gradient in it, another one may be the last by now."""
        if not self._pass_completed and not self._is_searching:
            self._search()
        self._callback_queued = self._pass_completed = False

    def close(self) -> None:
        """No weight has a hook any more."""
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
        learn = [weight for weight in weights if weight.requires_grad]  # what is frozen may be so for a while
        self._hooks = [weight.register_post_accumulate_grad_hook(self._gradient) for weight in learn]

    def _gradient(self, weight: Any) -> None:
        if torch.compiler.is_compiling():
            return
        self._last = weight
        self._ready()
        if not self._callback_queued:
            self._callback_queued = True
            with suppress(RuntimeError):  # no pass is under way: somebody else has called the hook
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
    """When the pass that is under way has nothing left to compute; FSDP of torch asks for it in the same way."""
    torch.autograd.Variable._execution_engine.queue_callback(called)  # noqa: SLF001 (there is no public way)
