"""Other checkpoint formats: torch.save, torch's DCP and safetensors; each is written and read by one process."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from clusterwright.onhost.lib.safe_reader import refuse_irregular
from clusterwright.runtime.checkpoints import memory, part, tree
from clusterwright.runtime.checkpoints.source import Damaged

_OURS = (
    "clusterwright"  # key in a DCP checkpoint for what DCP cannot store: non-string keys, empty containers
)


def _write_torch(state: dict[str, Any], path: Path) -> None:
    with path.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())


def _read_torch(path: Path) -> Any:
    """Return the state in a file of torch.save, with tensors in CPU memory; no code from it runs.

    Raises:
        Damaged: its tensors, such as expanded ones, would be written as many times the bytes of the file.
        OSError: it is no regular file.
    """
    with os.fdopen(
        os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
    ) as file:  # a pipe would block
        status = os.fstat(file.fileno())
        refuse_irregular(path, status.st_mode)
        state = tree.load_torch(file)
    tensors: dict[str, torch.Tensor] = {}
    tree.flatten(state, "", tensors)
    claimed = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    if claimed > tree.MOST_RATIO * status.st_size:
        raise Damaged(f"it claims {claimed} bytes of tensors in a file of {status.st_size} bytes")
    return state


def _write_dcp(state: dict[str, Any], path: Path) -> None:
    from torch.distributed.checkpoint.filesystem import FileSystemWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    skeleton = tree.pack(tree.flatten(state, "", {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about running without a process group, as intended
        _run_single_process(save, {**state, _OURS: {"tree": skeleton}}, storage_writer=FileSystemWriter(path))


def _run_single_process(action: Callable[..., object], *arguments: Any, **named: Any) -> None:
    """Call a DCP function; raise its original error in place of DCP's exception about all ranks."""
    from torch.distributed.checkpoint.api import CheckpointException

    try:
        action(*arguments, **named)
    except CheckpointException as reason:
        error = next(iter(reason.failures.values()))[0]
    else:
        return
    raise error  # outside the except block, so that it retains its own cause, such as a full disk


def _read_dcp(path: Path) -> Any:
    """Return the state of a whole DCP checkpoint, in CPU memory; no code from it runs.

    One that Clusterwright wrote is restored exactly, others as nested dicts.
    """
    from torch.distributed.checkpoint.metadata import TensorStorageMetadata
    from torch.distributed.checkpoint.state_dict_loader import load

    from clusterwright.runtime.checkpoints.dcp_reader import DcpReader, PlainPlanner

    about = DcpReader(path).read_metadata()
    state = {
        key: torch.empty(entry.size, dtype=entry.properties.dtype)
        if isinstance(entry, TensorStorageMetadata)
        else None
        for key, entry in about.state_dict_metadata.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _run_single_process(load, state, storage_reader=DcpReader(path), planner=PlainPlanner())
    paths = about.planner_data or {}
    named = {tuple(map(str, paths.get(key, (key,)))): value for key, value in state.items()}
    ours = named.pop((_OURS, "tree"), None)
    if ours is None:
        return _nested({tuple(paths.get(key, (key,))): value for key, value in state.items()})
    tensors: dict[str, torch.Tensor] = {}
    for key_path, value in named.items():
        tree.flatten(value, "/".join(key_path), tensors)
    return tree.restore(tree.unpack(ours), tensors)


def _nested(values_by_path: dict[tuple[Any, ...], Any]) -> dict[str, Any]:
    """Return the values as nested dicts and lists, by their paths."""
    result: dict[Any, Any] = {}
    for path, value in values_by_path.items():
        inner = result
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value
    return {name: _shaped(value) for name, value in result.items()}


def _shaped(value: Any) -> Any:
    """Return the value with its lists and the integer keys of optimizer state, which DCP made strings, restored."""
    if not isinstance(value, dict):
        return value
    shaped = {key: _shaped(item) for key, item in value.items()}
    if shaped and all(isinstance(key, int) for key in shaped):  # DCP uses integer keys only for list indexes
        return [shaped[index] for index in sorted(shaped)]
    if "param_groups" in shaped and all(key.isdigit() for key in shaped.get("state", {})):
        shaped["state"] = {int(key): item for key, item in shaped.get("state", {}).items()}
    return shaped


def _write_safetensors(state: dict[str, Any], path: Path) -> None:
    path.mkdir()
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in state.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": part.DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with (path / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in state.values():
            file.write(memory.view(flat(tensor)))
        file.flush()
        os.fsync(file.fileno())


def _read_safetensors(path: Path) -> Any:
    data = memory.tensor((path / "model.safetensors").read_bytes())
    start = 8 + int.from_bytes(memory.view(data[:8]), "little")
    header = json.loads(bytes(memory.view(data[8:start])))
    header.pop("__metadata__")
    named = {name: dtype for dtype, name in part.DTYPES.items()}
    tensors = {}
    for name, row in header.items():
        begin, end = row["data_offsets"]
        tensors[name] = data[start + begin : start + end].clone().view(named[row["dtype"]]).view(row["shape"])
    return tensors


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor's bytes as a flat uint8 CPU tensor."""
    return tensor.detach().cpu().contiguous().flatten().view(torch.uint8)


FORMS: dict[str, tuple[Callable[[dict[str, Any], Path], None], Callable[[Path], Any]]] = {
    "torch": (_write_torch, _read_torch),
    "dcp": (_write_dcp, _read_dcp),
    "safetensors": (_write_safetensors, _read_safetensors),
}
