"""Values that ranks exchange, as bytes: plain types in JSON and the bytes of tensors; nothing is unpickled.

Any process that reaches a rank's port can join its group, so what arrives must not be able to run code.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import torch

from clusterwright.runtime.checkpoints import memory

_MISSING = object()
_LENGTH_BYTES = 8
_DTYPES = {str(dtype): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}


def encode(value: Any) -> bytes:
    """Return the value encoded as bytes that `decode` reads without running code.

    Raises:
        TypeError: it contains something besides None, numbers, strings, bytes, dense tensors, lists, tuples, dicts,
            and objects whose attributes are such values.
    """
    blobs: list[bytes] = []
    text = json.dumps(_reduced(value, blobs)).encode()
    return b"".join((len(text).to_bytes(_LENGTH_BYTES, "little"), text, *blobs))


def decode(data: bytes, like: Any = _MISSING) -> Any:
    """Return the value that `encode` had encoded.

    Containers of other classes and objects become copies of those at the same place in `like`; without them,
    containers become plain ones.

    Raises:
        ValueError: the bytes are damaged, or not of this format.
    """
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    try:
        reduced = json.loads(data[_LENGTH_BYTES:end].decode())
        value = _Decoder(memoryview(data)[end:]).value(reduced, like)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"the peer sent a value that cannot be read: {error!r}") from error
    return value


def _reduced(value: Any, blobs: list[bytes]) -> Any:
    """Return the value as JSON types; plain scalars stay, everything else is a list with its kind.

    The bytes of tensors and bytes objects are appended to `blobs`.

    Raises:
        TypeError: the value cannot be sent to other ranks.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (list, tuple, set):
        return [type(value).__name__, [_reduced(item, blobs) for item in value]]
    if type(value) is dict:
        return ["dict", [[_reduced(key, blobs), _reduced(item, blobs)] for key, item in value.items()]]
    if isinstance(value, bytes):
        blobs.append(value)
        return ["bytes", len(value)]
    if isinstance(value, torch.Tensor):
        return _tensor(value, blobs)
    if type(value).__module__ == "numpy" and hasattr(value, "__array__"):
        return ["array", _tensor(torch.as_tensor(value), blobs)]
    for base in (dict, list, tuple):
        if isinstance(value, base):  # of a class of its own, such as a named tuple
            return [f"{base.__name__} class", _reduced(base(value), blobs)]
    if hasattr(value, "__dict__"):
        return ["object", _reduced(dict(vars(value)), blobs)]
    raise TypeError(
        f"{type(value).__name__} cannot be sent to other ranks; fix: use numbers, strings, bytes, tensors,"
        " lists, tuples, dicts, or objects with attributes of these types"
    )


def _tensor(tensor: torch.Tensor, blobs: list[bytes]) -> Any:
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise TypeError(
            f"a tensor of {tensor.dtype} and {tensor.layout} cannot be sent to other ranks; fix: make it dense"
        )
    data = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
    blobs.append(bytes(memory.view(data)))
    return ["tensor", str(tensor.dtype), list(tensor.shape)]


class _Decoder:
    """Reads a value, and its bytes in order."""

    def __init__(self, blobs: memoryview) -> None:
        self._blobs, self._at = blobs, 0

    def value(self, reduced: Any, like: Any) -> Any:
        """Return the value that `_reduced` has reduced; `like` is this rank's value at the same position.

        Tensors go to the device of `like`, else the CPU.
        """
        if not isinstance(reduced, list):
            return reduced
        kind, content, *more = reduced
        if kind in _SEQUENCES:
            return _SEQUENCES[kind](
                self.value(item, _item(like, index)) for index, item in enumerate(content)
            )
        if kind == "dict":
            pairs = ((self.value(key, _MISSING), item) for key, item in content)
            return {key: self.value(item, _item(like, key)) for key, item in pairs}
        if kind == "bytes":
            return self._take(content)
        if kind == "tensor":
            tensor = self._tensor(content, *more)
            return tensor.to(like.device) if isinstance(like, torch.Tensor) else tensor
        if kind == "array":
            return self.value(content, _MISSING).numpy()
        return self._like(kind, content, like)

    def _like(self, kind: str, content: Any, like: Any) -> Any:
        """Return a copy of `like` with the items or attributes that were sent.

        Raises:
            ValueError: `like` is of another kind.
        """
        if kind == "object" and hasattr(like, "__dict__"):
            copied = copy.copy(like)
            vars(copied).update(self.value(content, dict(vars(like))))
            return copied
        items = self.value(content, like)
        if like is _MISSING and kind.endswith(" class"):
            return items
        if kind == "tuple class" and isinstance(like, tuple):
            return like._make(items) if hasattr(like, "_make") else type(like)(items)
        if kind == "list class" and isinstance(like, list):
            copied = copy.copy(like)
            copied[:] = items
            return copied
        if kind == "dict class" and isinstance(like, dict) and like.keys() == items.keys():
            copied = copy.copy(like)
            for key, item in items.items():
                copied[key] = item
            return copied
        raise ValueError(f"the peer sent {kind!r} in place of {type(like).__name__}")

    def _tensor(self, dtype: str, shape: list[int]) -> torch.Tensor:
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise ValueError(f"the peer sent a tensor of shape {shape}")
        data = self._take(math.prod(shape) * _DTYPES[dtype].itemsize)
        return (
            memory.tensor(data).view(_DTYPES[dtype]).view(shape)
            if data
            else torch.empty(shape, dtype=_DTYPES[dtype])
        )

    def _take(self, size: int) -> bytes:
        data = bytes(self._blobs[self._at : self._at + size])
        if size < 0 or len(data) != size:
            raise ValueError(f"the peer sent {len(data)} of {size} bytes")
        self._at += size
        return data


_SEQUENCES: dict[str, Callable[..., Any]] = {"list": list, "tuple": tuple, "set": set}


def _item(like: Any, key: Any) -> Any:
    try:
        return like[key]
    except (LookupError, TypeError):
        return _MISSING
