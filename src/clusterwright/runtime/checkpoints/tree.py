"""A state is taken apart into its tensors, each with a name, and the rest; and put together again."""

from __future__ import annotations

import io
import pickle
from typing import Any

import torch

from clusterwright.runtime.checkpoints import memory
from clusterwright.runtime.checkpoints.part import DTYPES, NAMED, SUMS
from clusterwright.runtime.checkpoints.source import Damaged

_TENSOR_KEY = "\0tensor"  # no state_dict has this key
_RESERVED = {"rank", "tree", SUMS}  # what else lies in a part under a name
_PICKLE, _TORCH = b"P", b"T"  # how the rest was packed
_PACKED = (
    1024  # bytes; with sizes rounded up to these, a part's layout is nearly always that of the last save
)


def flatten(
    value: Any, name: str, tensors: dict[str, torch.Tensor], names_by_identity: dict[Any, str] | None = None
) -> Any:
    """The value with its tensors taken out into `tensors`, under names like `optimizer/state/0/exp_avg`.

    Tensors that are not dense (sparse, quantised) stay where they are and are pickled. One that is met again, as tied
    weights are, is taken once.
    """
    names_by_identity = {} if names_by_identity is None else names_by_identity
    if isinstance(value, torch.Tensor) and _dense(value, name):
        if (identity := _identity(value)) in names_by_identity:
            return {_TENSOR_KEY: names_by_identity[identity]}
        while name in tensors or name in _RESERVED:  # the keys 0 and "0" side by side
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


def unflatten(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """What `flatten` was given; dicts and tuples of special kinds come back as plain ones."""
    if isinstance(value, dict):
        if value.keys() == {_TENSOR_KEY}:
            return tensors[value[_TENSOR_KEY]]
        return {key: unflatten(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        kind = tuple if isinstance(value, tuple) else list
        return kind(unflatten(item, tensors) for item in value)
    return value


def shapes(value: Any, name: str = "") -> dict[str, tuple[int, ...]]:
    """The shape of each tensor by its path, tied ones each for itself."""
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
    """The rest as bytes; refused now, not on the day of the fault, if loading it would run code."""
    data = _pickled(value)
    data = len(data).to_bytes(8, "little") + data
    packed = memory.tensor(data + bytes(-len(data) % _PACKED))
    if data[8:9] != _PICKLE:
        unpack(packed)
    return packed


def unpack(packed: torch.Tensor) -> Any:
    """What `pack` was given; no code in it is ever run."""
    length = int.from_bytes(memory.view(packed[:8]), "little")
    stream = io.BytesIO(memory.view(packed[8 : 8 + length]))
    if stream.read(1) == _PICKLE:
        return _PlainUnpickler(stream).load()
    return torch.load(stream, map_location="cpu", weights_only=True)


def _pickled(value: Any) -> bytes:
    """By Python's own pickle if it is plain, which is quick; else by torch.save, which knows more."""
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
    """Something is neither None, a number, a text, bytes nor a simple tensor, nor a container of such."""


class _PlainPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        """Asked of whatever Python's pickle has no code of its own for."""
        if obj is _tensor:
            return NotImplemented  # by its name
        if type(obj) is not torch.Tensor or obj.device.type != "cpu" or not _dense(obj, ""):
            raise _NotPlainError(type(obj))
        data = obj.detach().contiguous().flatten().view(torch.uint8)
        return _tensor, (DTYPES[obj.dtype], tuple(obj.shape), bytes(memory.view(data)))


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Tensors are all that is not plain."""
        if name == _tensor.__name__:
            return _tensor
        raise Damaged(f"{module}.{name} was never packed here")


def _tensor(dtype: str, shape: tuple[int, ...], data: bytes) -> torch.Tensor:
    return (
        memory.tensor(data).view(NAMED[dtype]).view(shape) if data else torch.empty(shape, dtype=NAMED[dtype])
    )


def _identity(tensor: Any) -> Any:
    """Equal for two views of the same memory that are alike; memory that is empty has no address, but an identity."""
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    address = local.data_ptr() or local.untyped_storage()._cdata  # noqa: SLF001 (torch.save tells storages apart by it)
    more = (tensor.shape, str(tensor.placements)) if local is not tensor else ()
    return address, local.shape, local.stride(), local.dtype, *more


def _dense(tensor: Any, name: str) -> bool:
    if hasattr(tensor, "local_shards"):
        raise TypeError(f"{name} is a ShardedTensor: shard the model with fully_shard, which makes DTensors")
    return tensor.layout is torch.strided and not tensor.is_quantized and tensor.dtype in DTYPES
