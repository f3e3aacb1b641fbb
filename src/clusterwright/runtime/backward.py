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
    """Calls `ready` and `done` at these moments, in each backward pass; while it looks, `ready` more than once."""

    def __init__(self, model: nn.Module, ready: Callable[[], None], done: Callable[[], None]) -> None:
        self._model = ref(model)  # which a script may let go of, and its GPU's memory with it
        self._ready, self._done = ready, done
        self._hooks: list[Any] = []
        self._last: Any = None
        self._looks = self._asked = self._came = False
        self._look()

    def stepped(self) -> None:
        """An optimiser step is complete; without that gradient in it, another one may be the last by now."""
        if not self._came and not self._looks:
            self._look()
        self._asked = self._came = False

    def close(self) -> None:
        """No weight has a hook any more."""
        for each in self._hooks:
            each.remove()
        self._hooks = []

    def _look(self) -> None:
        model = self._model()
        if model is not None:
            self._looks = True
            self._hook(model.parameters())

    def _hook(self, weights: Iterable[Any]) -> None:
        self.close()
        learn = [each for each in weights if each.requires_grad]  # what is frozen may be so for a while
        self._hooks = [each.register_post_accumulate_grad_hook(self._gradient) for each in learn]

    def _gradient(self, weight: Any) -> None:
        if torch.compiler.is_compiling():
            return
        self._last = weight
        self._ready()
        if not self._asked:
            self._asked = True
            with suppress(RuntimeError):  # no pass is under way: somebody else has called the hook
                _call_back(self._own_part)

    def _own_part(self) -> None:
        _call_back(self._all)

    def _all(self) -> None:
        self._asked, self._came = False, True
        self._done()
        if self._looks:
            self._looks = False
            self._hook([self._last])
        self._last = None


def _call_back(called: Callable[[], None]) -> None:
    """When the pass that is under way has nothing left to compute; FSDP of torch asks for it in the same way."""
    torch.autograd.Variable._execution_engine.queue_callback(called)  # noqa: SLF001 (there is no public way)
