"""The objects that a script saves and resumes, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from clusterwright.runtime.checkpoints import tree
from clusterwright.runtime.data import Sampler
from clusterwright.runtime.services import names

RUN_KEY = "run"  # the run's own state is saved under this name


class Tracked:
    """Objects with `state_dict` and `load_state_dict`, by name."""

    def __init__(self) -> None:
        self._objects: dict[str, Any] = {}
        # By kind, as each step needs them:
        self.samplers: list[Sampler] = []
        self.models: list[nn.Module] = []
        self.optimizers: list[Any] = []
        self._shared: set[str] | None = None

    def add(self, **objects: Any) -> None:
        """Track the objects by name, without their wrappers; an object that was tracked under the name is replaced.

        Raises:
            TypeError: an object has no `state_dict` and `load_state_dict`, or is named `run`.
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
        """Track these objects as shared by all ranks; all others become local to each rank (see `outer`)."""
        self.add(**objects)
        self._shared = set(objects)

    def local_state(self) -> dict[str, Any]:
        """Return the state of the objects that are local to this rank; empty unless `add_parting` was called."""
        return {name: names.state(item) for name, item in self._objects.items() if self._is_local(name)}

    def load_local_state(self, states: Mapping[str, Any]) -> None:
        """Load the result of `local_state`; objects missing in it stay unchanged."""
        for name, item in self._objects.items():
            if name in states and self._is_local(name):
                names.load(item, states[name])

    def _is_local(self, name: str) -> bool:
        return self._shared is not None and name not in self._shared

    def contains(self, item: Any) -> bool:
        """Return True if this object, without its wrappers, is tracked."""
        return any(tracked_item is names.bare(item) for tracked_item in self._objects.values())

    @property
    def objects(self) -> dict[str, Any]:
        """Return a copy of the tracked objects, by name."""
        return dict(self._objects)

    def buffers(self) -> list[str]:
        """Return the names of all buffers of tracked modules, which may differ between ranks.

        No optimizer updates them. After `add_parting`, of all tensors that are local to this rank.
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
        """Return the current state of each tracked object, by name."""
        return {name: names.state(item) for name, item in self._objects.items()}

    def load_state(self, step: int, states: dict[str, Any]) -> None:
        """Load into each tracked object its state as saved at a step.

        Raises:
            RuntimeError: an object tracked now is missing in the saved states.
        """
        missing = self._objects.keys() - states.keys() - (self._shared or set())
        if missing:
            raise RuntimeError(
                f"step {step} was saved without {', '.join(sorted(missing))}, which is tracked now"
            )
        for name, item in self._objects.items():
            names.load(item, states.get(name, {}))
