"""Loads and saves weights in Hugging Face's safetensors layout: one file, or several with an index."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from clusterwright.onhost.lib.files import rename
from clusterwright.runtime.checkpoints import shards

INDEX, SINGLE_FILE = "model.safetensors.index.json", "model.safetensors"
_GB = 10**9


def package() -> Any:
    """Import and return the package safetensors.

    Raises:
        ModuleNotFoundError: it is not installed; the message has the pip command.
    """
    try:
        import safetensors.torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("weights in safetensors need `pip install clusterwright[train]`") from error
    return safetensors


def load(model: nn.Module, folder: Path) -> None:
    """Load the weights of a folder into a model, also a sharded one: each rank reads only its shards.

    Tied weights are read once, under the first of their names that the folder has.

    Raises:
        ValueError: a tensor is missing, unexpected or has another shape; the message names it.
    """
    files = _files(folder)
    names: dict[Any, list[str]] = {}  # of each parameter; tied weights have several
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    sources = {parameter: next((n for n in tied if n in files), tied[0]) for parameter, tied in names.items()}
    if missing := sorted(set(sources.values()) - set(files)):
        raise ValueError(f"{folder} has no tensor {_some(missing)}, which config.json requires")
    places = {name for tied in names.values() for name in tied}
    if spare := sorted(
        tensor_name for tensor_name in set(files) - places if not tensor_name.endswith("rotary_emb.inv_freq")
    ):
        raise ValueError(f"{folder} has {_some(spare)}, which the model of config.json does not have")
    opened = {path: _opened(path) for path in sorted(set(files.values()))}
    for parameter, name in sources.items():
        _fill(parameter, opened[files[name]].get_slice(name), f"{files[name]}: {name}")


def save(
    parameters: dict[str, Any],
    folder: Path,
    *,
    dtype: torch.dtype,
    rank: int,
    largest: int = 5 * _GB,
    stem: str = "model",
) -> None:
    """Write the weights to safetensors files of at most `largest` bytes, each atomically; collective, rank 0 writes.

    A single file is named by `stem` alone; several get an index file, written last. A larger tensor has a file of its
    own.
    """
    parts = list(_parts(parameters, dtype.itemsize, largest))
    names = [f"{stem}-{n:05d}-of-{len(parts):05d}.safetensors" for n in range(1, len(parts) + 1)]
    names = names if len(parts) > 1 else [f"{stem}.safetensors"]
    holders = _holders(parameters)
    for name, part in zip(names, parts):
        gathered = {
            tensor_name: _gather_full(parameters[tensor_name], holders.get(tensor_name))
            for tensor_name in part
        }
        full_tensors = {
            tensor_name: tensor.to("cpu", dtype).contiguous() for tensor_name, tensor in gathered.items()
        }
        if rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            package().torch.save_file(full_tensors, str(folder / f".{name}"), metadata={"format": "pt"})
            rename(folder / f".{name}", folder / name, durable=False)
    if rank == 0 and len(parts) > 1:
        total = sum(math.prod(parameter.shape) for parameter in parameters.values()) * dtype.itemsize
        weight_map = {tensor_name: name for name, part in zip(names, parts) for tensor_name in part}
        index = {"metadata": {"total_size": total}, "weight_map": weight_map}
        (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n")


def _files(folder: Path) -> dict[str, Path]:
    """Return the file of each tensor of a folder by name, from its index or its single file.

    Raises:
        ValueError: the folder has neither, or a file of the index is missing.
    """
    if (folder / INDEX).exists():
        weight_map = json.loads((folder / INDEX).read_text())["weight_map"]
        missing_files = sorted({file for file in weight_map.values() if not (folder / file).exists()})
        if missing_files:
            raise ValueError(f"{folder / INDEX} names {_some(missing_files)}, which does not exist")
        return {name: folder / file for name, file in weight_map.items()}
    if not (folder / SINGLE_FILE).exists():
        raise ValueError(f"{folder} has neither {SINGLE_FILE} nor {INDEX}")
    return dict.fromkeys(_opened(folder / SINGLE_FILE).keys(), folder / SINGLE_FILE)


def _opened(path: Path) -> Any:
    try:
        return package().safe_open(str(path), "pt")
    except package().SafetensorError as error:
        raise ValueError(f"{path} is damaged or truncated: {error}") from error


@torch.no_grad()
def _fill(parameter: Any, tensor_slice: Any, source: str) -> None:
    if tuple(tensor_slice.get_shape()) != tuple(parameter.shape):
        raise ValueError(
            f"{source} has shape {tensor_slice.get_shape()}, but {list(parameter.shape)} by config.json"
        )
    if not shards.sharded(parameter):
        parameter.copy_(tensor_slice[:])
        return
    box = shards.box(parameter)
    slices = tuple(slice(start, start + size) for start, size in zip(box.offset, box.shape))
    shards.local_of(parameter).copy_(tensor_slice[slices] if box.numel else torch.empty(box.shape))


def _parts(parameters: dict[str, Any], width: int, largest: int) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for name, parameter in parameters.items():
        bytes_ = math.prod(parameter.shape) * width
        if part and size + bytes_ > largest:
            yield part
            part, size = [], 0
        part.append(name)
        size += bytes_
    yield part


def _holders(parameters: dict[str, Any]) -> dict[str, tuple[int, torch.device]]:
    """Return for each parameter the first rank that holds it and this rank's device, by name; collective.

    Empty without pipeline parallelism, where each rank has all parameters.
    """
    present = [parameter for parameter in parameters.values() if not parameter.is_meta]
    if len(present) == len(parameters):
        return {}
    device = present[0].device
    flags = torch.tensor([not parameter.is_meta for parameter in parameters.values()], device=device)
    present_by_rank = [torch.empty_like(flags) for _ in range(dist.get_world_size())]
    dist.all_gather(present_by_rank, flags)
    held = torch.stack(present_by_rank, 1).tolist()
    return {name: (ranks.index(True), device) for name, ranks in zip(parameters, held)}


@torch.no_grad()
def _gather_full(parameter: Any, holder: tuple[int, torch.device] | None) -> Tensor:
    full_tensor: Tensor = parameter.full_tensor() if shards.sharded(parameter) else parameter
    if holder:
        rank, device = holder
        full_tensor = (
            torch.empty_like(full_tensor, device=device) if full_tensor.is_meta else full_tensor.contiguous()
        )
        dist.broadcast(full_tensor, rank)
    return full_tensor.detach()


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
