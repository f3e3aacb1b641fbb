"""The tensors that a training needs from a checkpoint: their shapes, and the shard of each on this rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from clusterwright.runtime.checkpoints import shards, tree
from clusterwright.runtime.checkpoints.shards import Box

_NAMED = 10  # maximum number of tensors of a kind named in an error


class Mismatch(ValueError):  # noqa: N818 (nothing is damaged; older checkpoints would not match either)
    """A checkpoint of another architecture."""


class TargetState:
    """The objects that will load a state, and their current states.

    A tensor that is a DTensor now is loaded as one, whatever pieces it was saved in. Optimizer state, which may not
    exist yet, is sharded like its parameters. All other tensors are loaded in full.
    """

    def __init__(self, objects: Mapping[str, Any], states: Mapping[str, Any]) -> None:
        self._tensors: dict[str, torch.Tensor] = {}
        tree.flatten(dict(states), "", self._tensors)
        self._shapes = {
            name: tree.shapes(states[name])
            for name, target_object in objects.items()
            if isinstance(target_object, nn.Module)
        }
        self._parameters: dict[str, torch.Tensor] = {}
        for name, target_object in objects.items():
            groups = getattr(target_object, "param_groups", ())
            for index, parameter in enumerate(p for group in groups for p in group["params"]):
                self._parameters[f"{name}/state/{index}"] = parameter

    def piece(self, name: str, shape: tuple[int, ...]) -> Box | None:
        """Return the box of a saved tensor that this rank needs: all of it if not sharded or unknown here.

        None if its shape differs from the current one.
        """
        tensor = self._tensors.get(name)
        if tensor is not None and tuple(tensor.shape) != shape:
            return None
        layout = self._layout(name, shape)
        return shards.full_box(shape) if layout is None else shards.box(layout)

    def build_tensor(self, name: str, shape: tuple[int, ...], local: torch.Tensor) -> torch.Tensor:
        """Return a loaded piece as a tensor: a DTensor if the current tensor of that name is one."""
        layout = self._layout(name, shape)
        return local if layout is None else shards.like(layout, local)

    def compare(self, step: int, saved: Mapping[str, Any]) -> None:
        """Raise Mismatch if names or shapes of the models' tensors differ from the saved ones.

        Models that were not saved are ignored.

        Raises:
            Mismatch: they differ; the message names the tensors.
        """
        current_shapes = {
            f"{name}/{path}": shape for name, shapes in self._shapes.items() for path, shape in shapes.items()
        }
        models = {name: saved[name] for name in self._shapes if name in saved}
        saved_shapes = tree.shapes(models)
        current_shapes = {
            path: shape for path, shape in current_shapes.items() if path.split("/")[0] in models
        }
        mismatches = [
            f"{path}: saved {list(saved_shapes[path])}, now {list(current_shapes[path])}"
            for path in current_shapes
            if path in saved_shapes and saved_shapes[path] != current_shapes[path]
        ]
        problems = [
            f"{kind}: {', '.join(names[:_NAMED])}{' and more' if len(names) > _NAMED else ''}"
            for kind, names in (
                ("missing in the checkpoint", sorted(current_shapes.keys() - saved_shapes.keys())),
                ("only in the checkpoint", sorted(saved_shapes.keys() - current_shapes.keys())),
                ("different shape", mismatches),
            )
            if names
        ]
        if problems:
            raise Mismatch(f"step {step} was saved from a different architecture: {'; '.join(problems)}")

    def _layout(self, name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        """Return the current tensor of this name, or the parameter whose optimizer state it is.

        None unless it has this shape and is sharded, or is absent here.
        """
        for tensor in (self._tensors.get(name), self._parameters.get(name.rpartition("/")[0])):
            has_layout = tensor is not None and (shards.sharded(tensor) or shards.absent(tensor))
            if tensor is not None and has_layout and tuple(tensor.shape) == shape:
                return tensor
        return None
