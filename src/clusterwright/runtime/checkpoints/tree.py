"""Splits a nested state into named tensors and a picklable rest, and joins them again."""

from __future__ import annotations

import io
import pickle  # nosec B403 # _PlainUnpickler refuses every class
from pathlib import Path
from typing import Any, BinaryIO

import torch

from clusterwright.runtime.checkpoints import memory, sharing
from clusterwright.runtime.checkpoints.part import DTYPES, NAMED, SUMS
from clusterwright.runtime.checkpoints.source import Damaged

_TENSOR_KEY = "\0tensor"  # no state_dict has this key
_RESERVED = {"rank", "tree", SUMS}  # other names in a part
_PICKLE, _TORCH = b"P", b"T"  # format of a packed rest
# What reading a crafted structure raises, beside Damaged.
CRAFTED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
MOST_RATIO = 4  # bytes of tensors per byte of their files; ours: a format stores each byte once
_PACKED = (
    1024  # bytes; sizes are rounded up to this, so that a part's layout seldom differs from the last save's
)


def flatten(
    value: Any, name: str, tensors: dict[str, torch.Tensor], names_by_identity: dict[Any, str] | None = None
) -> Any:
    """Return the value with its tensors replaced by names like `optimizer/state/0/exp_avg`, and add them to `tensors`.

    Tensors that are not dense (sparse, quantized) stay in place and are pickled. Tied weights are moved once.
    """
    names_by_identity = {} if names_by_identity is None else names_by_identity
    if isinstance(value, torch.Tensor) and _dense(value, name):
        if (identity := _identity(value)) in names_by_identity:
            return {_TENSOR_KEY: names_by_identity[identity]}
        while name in tensors or name in _RESERVED:  # both keys 0 and "0"
            name += "'"
        tensors[name] = value.detach() if value.requires_grad else value
        names_by_identity[identity] = name
        return {_TENSOR_KEY: name}
    if isinstance(value, dict):
        return {
            key: flatten(item, f"{name}/{key}" if name else str(key), tensors, names_by_identity)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        kind = tuple if isinstance(value, tuple) else list
        return kind(
            flatten(item, f"{name}/{index}", tensors, names_by_identity) for index, item in enumerate(value)
        )
    return value


def restore(skeleton: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """Return the structure `skeleton`, made by `flatten` and read from a file, with its tensors in place.

    Raises:
        Damaged: it names a tensor that is missing, or is nested too deeply.
    """
    try:
        return unflatten(skeleton, tensors)
    except (LookupError, RecursionError, TypeError) as error:
        raise Damaged(f"the structure of the state does not match its tensors: {error}") from None


def unflatten(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """Return the structure made by `flatten` with its tensors; subclasses of dict and tuple become plain ones."""
    if isinstance(value, dict):
        if value.keys() == {_TENSOR_KEY}:
            return tensors[value[_TENSOR_KEY]]
        return {key: unflatten(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        kind = tuple if isinstance(value, tuple) else list
        return kind(unflatten(item, tensors) for item in value)
    return value


def shapes(value: Any, name: str = "") -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor in a structure by its path, of tied ones under each path."""
    if isinstance(value, torch.Tensor):
        return {name: tuple(value.shape)}
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, (list, tuple)):
        inner = enumerate(value)
    return {
        path: shape
        for key, item in inner
        for path, shape in shapes(item, f"{name}/{key}" if name else str(key)).items()
    }


def pack(value: Any) -> torch.Tensor:
    """Return a structure without tensors serialized to a uint8 tensor; raise if loading it would run code."""
    data = _pickled(value)
    data = len(data).to_bytes(8, "little") + data
    packed = memory.tensor(data + bytes(-len(data) % _PACKED))
    if data[8:9] != _PICKLE:
        _loaded(packed)
    return packed


def unpack(packed: torch.Tensor) -> Any:
    """Return the structure that `pack` has serialized, without running code from it.

    Raises:
        Damaged: it is no result of `pack`.
    """
    try:
        return _loaded(packed)
    except CRAFTED as error:
        raise Damaged(f"the structure of the state cannot be read: {type(error).__name__}") from error


def _loaded(packed: torch.Tensor) -> Any:
    length = int.from_bytes(memory.view(packed[:8]), "little")
    data = memory.view(packed[8 : 8 + length])
    if data[:1] != _PICKLE:
        return load_torch(io.BytesIO(data[1:]))
    sharing.require_few_copies_in_keys(data[1:], indexes=False)
    value = _PlainUnpickler(io.BytesIO(data[1:])).load()
    sharing.require_few_copies(value)
    return value


def load_torch(source: Path | BinaryIO) -> Any:
    """Return the content of a file of torch.save, in CPU memory, without running code from it.

    Raises:
        Damaged: its structure, of few bytes, would become one of many items.
        Exception: torch cannot read it.
    """
    if (data := sharing.pickle_of(source)) is not None:
        sharing.require_few_copies_in_keys(data, indexes=True)
    value = torch.load(source, map_location="cpu", weights_only=True)
    sharing.require_few_copies(value)
    return value


def _pickled(value: Any) -> bytes:
    """Return the value serialized by Python's pickle, which is fast, if it is plain, else by torch.save."""
    stream = io.BytesIO()
    try:
        stream.write(_PICKLE)
        _PlainPickler(stream, protocol=4).dump(value)
    except _NotPlainError:
        stream = io.BytesIO()
        stream.write(_TORCH)
        torch.save(value, stream)
    return stream.getvalue()


class _NotPlainError(Exception):
    """A value is not made of None, numbers, strings, bytes, dense CPU tensors and containers of them."""


class _PlainPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        """Return how to pickle a dense CPU tensor; raise _NotPlainError for all other objects.

        Called for each object that pickle does not serialize natively.
        """
        if obj is _tensor:
            return NotImplemented  # pickled by name
        if type(obj) is not torch.Tensor or obj.device.type != "cpu" or not _dense(obj, ""):
            raise _NotPlainError(type(obj))
        data = obj.detach().contiguous().flatten().view(torch.uint8)
        return _tensor, (DTYPES[obj.dtype], tuple(obj.shape), bytes(memory.view(data)))


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return the function `_tensor` if a pickle names it; raise Damaged for any other global."""
        if name == _tensor.__name__:
            return _tensor
        raise Damaged(f"unexpected {module}.{name} in a checkpoint")


def _tensor(dtype: str, shape: tuple[int, ...], data: bytes) -> torch.Tensor:
    if data:
        return memory.tensor(data).view(NAMED[dtype]).view(shape)
    empty = torch.empty(shape, dtype=NAMED[dtype], device="meta")
    if empty.numel():
        raise ValueError("a tensor of the structure has no bytes")
    return torch.empty(shape, dtype=NAMED[dtype])


def _identity(tensor: Any) -> Any:
    """Return a key of a tensor that is equal for identical views of the same memory.

    Empty memory is keyed by its storage.
    """
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    address = local.data_ptr() or local.untyped_storage()._cdata  # noqa: SLF001 (torch.save identifies storages by it)
    more = (tensor.shape, str(tensor.placements)) if local is not tensor else ()
    return address, local.shape, local.stride(), local.dtype, *more


def _dense(tensor: Any, name: str) -> bool:
    if hasattr(tensor, "local_shards"):
        raise TypeError(
            f"{name} is a ShardedTensor; fix: shard the model with fully_shard, which uses DTensors"
        )
    return tensor.layout is torch.strided and not tensor.is_quantized and tensor.dtype in DTYPES
