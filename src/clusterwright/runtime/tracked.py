"""What a script wants saved and resumed, under the names that it gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from clusterwright.runtime.checkpoints import tree
from clusterwright.runtime.data import Sampler
from clusterwright.runtime.services import names

RUN_KEY = "run"  # what the run itself remembers lies beside it, under this name


class Tracked:
    """Objects by name: anything with `state_dict` and `load_state_dict`."""

    def __init__(self) -> None:
        self._objects: dict[str, Any] = {}
        # By kind, as each step asks for them:
        self.samplers: list[Sampler] = []  # those that hold a position in the data
        self.models: list[nn.Module] = []  # those that hold weights
        self.optimizers: list[Any] = []  # those that hold learning rates
        self._shared: set[str] | None = None

    def add(self, **objects: Any) -> None:
        """Take these in, too.

        Raises:
            TypeError: one has no state that could be saved, or the name is taken.
        """
        for name, item in objects.items():
            if name == RUN_KEY or not hasattr(item, "state_dict") or not hasattr(item, "load_state_dict"):
                raise TypeError(
                    f"track({name}={type(item).__name__}): it needs state_dict and load_state_dict, "
                    f"and a name that is not `{RUN_KEY}`"
                )
            self._objects[name] = names.bare(item)
        items = list(self._objects.values())
        self.samplers = [item for item in items if isinstance(item, Sampler)]
        self.models = [item for item in items if isinstance(item, nn.Module)]
        self.optimizers = [item for item in items if getattr(item, "param_groups", None)]

    def add_parting(self, **objects: Any) -> None:
        """Take these in, the same on all ranks; all else is each rank's own from now on (see `outer`)."""
        self.add(**objects)
        self._shared = set(objects)

    def local_state(self) -> dict[str, Any]:
        """The state of what ranks have each for itself, where they part."""
        return {name: names.state(item) for name, item in self._objects.items() if self._is_local(name)}

    def load_local_state(self, states: Mapping[str, Any]) -> None:
        """Give each its state as `local_state` said it; what is not in it stays as it is."""
        for name, item in self._objects.items():
            if name in states and self._is_local(name):
                names.load(item, states[name])

    def _is_local(self, name: str) -> bool:
        return self._shared is not None and name not in self._shared

    def contains(self, item: Any) -> bool:
        """Whether this very object is tracked."""
        return any(tracked_item is names.bare(item) for tracked_item in self._objects.values())

    @property
    def objects(self) -> dict[str, Any]:
        """All of them, by name."""
        return dict(self._objects)

    def buffers(self) -> list[str]:
        """The names of what models have beside their weights, which no optimizer keeps alike on all ranks.

        Where ranks part, of all that is their own.
        """
        if self._shared is not None:
            tensors: dict[str, torch.Tensor] = {}
            tree.flatten(self.local_state(), "", tensors)
            return list(tensors)
        return [
            f"{name}/{names.unwrap_name(path)}"
            for name, item in self._objects.items()
            if isinstance(item, nn.Module)
            for path, _ in item.named_buffers()
        ]

    def state(self) -> dict[str, Any]:
        """The state of each, as it is now."""
        return {name: names.state(item) for name, item in self._objects.items()}

    def load_state(self, step: int, states: dict[str, Any]) -> None:
        """Give each its state as saved at a step.

        Raises:
            RuntimeError: something is tracked now that was not then.
        """
        missing = self._objects.keys() - states.keys() - (self._shared or set())
        if missing:
            raise RuntimeError(
                f"step {step} was saved without {', '.join(sorted(missing))}, which is tracked now"
            )
        for name, item in self._objects.items():
            names.load(item, states.get(name, {}))
