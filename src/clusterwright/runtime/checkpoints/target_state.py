"""What a training needs of a checkpoint: which tensors, of which shapes, and which piece of each on this rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from clusterwright.runtime.checkpoints import shards, tree
from clusterwright.runtime.checkpoints.shards import Box

_NAMED = 10  # as many tensors of a kind are named in an error


class Mismatch(ValueError):  # noqa: N818 (nothing is damaged, and no older checkpoint will be better)
    """A checkpoint of another architecture."""


class TargetState:
    """The objects that will take a state over, and the states that they have now.

    A tensor that is a DTensor now will be one again, from whichever pieces it was saved in. The moments of an
    optimizer, which it may not have yet, are laid out as their parameters are. All else is loaded whole.
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
        """The box of it that this rank needs; None for another shape than that of the tensor it is for."""
        tensor = self._tensors.get(name)
        if tensor is not None and tuple(tensor.shape) != shape:
            return None
        layout = self._layout(name, shape)
        return shards.full_box(shape) if layout is None else shards.box(layout)

    def build_tensor(self, name: str, shape: tuple[int, ...], local: torch.Tensor) -> torch.Tensor:
        """The tensor that this piece is of, as a DTensor where that is wanted."""
        layout = self._layout(name, shape)
        return local if layout is None else shards.like(layout, local)

    def compare(self, step: int, saved: Mapping[str, Any]) -> None:
        """See that the models' tensors are those that were saved.

        Raises:
            Mismatch: with the names on both sides.
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
            f"{path}: {list(saved_shapes[path])} saved, {list(current_shapes[path])} here"
            for path in current_shapes
            if path in saved_shapes and saved_shapes[path] != current_shapes[path]
        ]
        problems = [
            f"{kind}: {', '.join(names[:_NAMED])}{' and more' if len(names) > _NAMED else ''}"
            for kind, names in (
                ("missing in the checkpoint", sorted(current_shapes.keys() - saved_shapes.keys())),
                ("in the checkpoint only", sorted(saved_shapes.keys() - current_shapes.keys())),
                ("of another shape", mismatches),
            )
            if names
        ]
        if problems:
            raise Mismatch(f"step {step} was saved by another architecture. {'; '.join(problems)}")

    def _layout(self, name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        """A DTensor of this shape to take as the pattern, or one that is absent."""
        for tensor in (self._tensors.get(name), self._parameters.get(name.rpartition("/")[0])):
            has_layout = tensor is not None and (shards.sharded(tensor) or shards.absent(tensor))
            if tensor is not None and has_layout and tuple(tensor.shape) == shape:
                return tensor
        return None
