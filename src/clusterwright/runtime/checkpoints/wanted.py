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


class Wanted:
    """The objects that will take a state over, and the states that they have now.

    A tensor that is a DTensor now will be one again, from whichever pieces it was saved in. The moments of an
    optimizer, which it may not have yet, are laid out as their parameters are. All else is loaded whole.
    """

    def __init__(self, objects: Mapping[str, Any], states: Mapping[str, Any]) -> None:
        self._tensors: dict[str, torch.Tensor] = {}
        tree.apart(dict(states), "", self._tensors)
        self._shapes = {
            name: tree.shapes(states[name]) for name, each in objects.items() if isinstance(each, nn.Module)
        }
        self._parameters: dict[str, torch.Tensor] = {}
        for name, each in objects.items():
            groups = getattr(each, "param_groups", ())
            for index, parameter in enumerate(p for group in groups for p in group["params"]):
                self._parameters[f"{name}/state/{index}"] = parameter

    def piece(self, name: str, shape: tuple[int, ...]) -> Box | None:
        """The box of it that this rank needs; None for another shape than that of the tensor it is for."""
        found = self._tensors.get(name)
        if found is not None and tuple(found.shape) != shape:
            return None
        layout = self._layout(name, shape)
        return shards.whole(shape) if layout is None else shards.box(layout)

    def place(self, name: str, shape: tuple[int, ...], local: torch.Tensor) -> torch.Tensor:
        """The tensor that this piece is of, as a DTensor where that is wanted."""
        layout = self._layout(name, shape)
        return local if layout is None else shards.like(layout, local)

    def compare(self, step: int, saved: Mapping[str, Any]) -> None:
        """See that the models' tensors are those that were saved.

        Raises:
            Mismatch: with the names on both sides.
        """
        here = {f"{name}/{path}": shape for name, own in self._shapes.items() for path, shape in own.items()}
        models = {name: saved[name] for name in self._shapes if name in saved}
        there = tree.shapes(models)
        here = {path: shape for path, shape in here.items() if path.split("/")[0] in models}
        other = [
            f"{path}: {list(there[path])} saved, {list(here[path])} here"
            for path in here
            if path in there and there[path] != here[path]
        ]
        words = [
            f"{kind}: {', '.join(found[:_NAMED])}{' and more' if len(found) > _NAMED else ''}"
            for kind, found in (
                ("missing in the checkpoint", sorted(here.keys() - there.keys())),
                ("in the checkpoint only", sorted(there.keys() - here.keys())),
                ("of another shape", other),
            )
            if found
        ]
        if words:
            raise Mismatch(f"step {step} was saved by another architecture. {'; '.join(words)}")

    def _layout(self, name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        """A DTensor of this shape to take as the pattern, or one that is absent."""
        for found in (self._tensors.get(name), self._parameters.get(name.rpartition("/")[0])):
            laid_out = found is not None and (shards.sharded(found) or shards.absent(found))
            if found is not None and laid_out and tuple(found.shape) == shape:
                return found
        return None
