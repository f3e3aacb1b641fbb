"""A state is taken apart into its tensors, each with a name, and the rest; and put together again."""

from __future__ import annotations

import io
from typing import Any

import torch

from clusterwright.train.runtime import memory
from clusterwright.train.runtime.part import DTYPES

_MARK = "\0tensor"  # no state_dict has this key


def apart(value: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    """The value with its tensors taken out into `tensors`, under names like `optimizer/state/0/exp_avg`.

    Tensors that are not dense (sparse, quantised) stay where they are and are pickled.
    """
    if isinstance(value, torch.Tensor) and _dense(value, name):
        while name in tensors:  # the keys 0 and "0" side by side
            name += "'"
        tensors[name] = value.detach()
        return {_MARK: name}
    if isinstance(value, dict):
        return {
            key: apart(item, f"{name}/{key}" if name else str(key), tensors) for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        kind = tuple if isinstance(value, tuple) else list
        return kind(apart(item, f"{name}/{index}", tensors) for index, item in enumerate(value))
    return value


def together(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """What `apart` was given; dicts and tuples of special kinds come back as plain ones."""
    if isinstance(value, dict):
        if value.keys() == {_MARK}:
            return tensors[value[_MARK]]
        return {key: together(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        kind = tuple if isinstance(value, tuple) else list
        return kind(together(item, tensors) for item in value)
    return value


def pack(value: Any) -> torch.Tensor:
    """The rest as bytes; refused now, not on the day of the fault, if loading it would run code."""
    stream = io.BytesIO()
    torch.save(value, stream)
    packed = memory.tensor(stream.getvalue())
    unpack(packed)
    return packed


def unpack(packed: torch.Tensor) -> Any:
    """What `pack` was given; no code in it is ever run."""
    return torch.load(io.BytesIO(memory.view(packed)), map_location="cpu", weights_only=True)


def _dense(tensor: torch.Tensor, name: str) -> bool:
    if hasattr(tensor, "to_local"):
        raise TypeError(f"{name} is a DTensor: this checkpoint format holds replicated state only as yet")
    return tensor.layout is torch.strided and not tensor.is_quantized and tensor.dtype in DTYPES
