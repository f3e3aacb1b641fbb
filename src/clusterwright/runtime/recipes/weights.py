"""Weights in safetensors, as Hugging Face lays them out: one file, or several and an index."""

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

INDEX, ONE = "model.safetensors.index.json", "model.safetensors"
_GB = 10**9


def package() -> Any:
    """The package safetensors.

    Raises:
        ModuleNotFoundError: it is not installed; says how it would be.
    """
    try:
        import safetensors.torch
    except ModuleNotFoundError as why:
        raise ModuleNotFoundError("weights in safetensors need `pip install clusterwright[train]`") from why
    return safetensors


def load(model: nn.Module, folder: Path) -> None:
    """Fill the model, whatever its layout: each rank reads only what it holds.

    Raises:
        ValueError: a tensor is missing, there is one too many, or one has another shape; it is named.
    """
    files = _files(folder)
    own = dict(model.named_parameters())  # a tied weight comes once, under its first name
    places = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    if missing := sorted(set(own) - set(files)):
        raise ValueError(f"{folder} has no tensor {_some(missing)}, which config.json asks for")
    if spare := sorted(each for each in set(files) - places if not each.endswith("rotary_emb.inv_freq")):
        raise ValueError(f"{folder} has {_some(spare)}, for which config.json has no place")
    opened = {path: _opened(path) for path in sorted(set(files.values()))}
    for name, parameter in own.items():
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
    """Write the weights, in files of at most `largest` bytes; all ranks call it, and rank 0 writes.

    A file has its name when it is whole.
    """
    parts = list(_parts(parameters, dtype.itemsize, largest))
    names = [f"{stem}-{n:05d}-of-{len(parts):05d}.safetensors" for n in range(1, len(parts) + 1)]
    names = names if len(parts) > 1 else [f"{stem}.safetensors"]
    holders = _holders(parameters)
    for name, part in zip(names, parts):
        gathered = {each: _whole(parameters[each], holders.get(each)) for each in part}
        whole = {each: tensor.to("cpu", dtype).contiguous() for each, tensor in gathered.items()}
        if rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            package().torch.save_file(whole, str(folder / f".{name}"), metadata={"format": "pt"})
            rename(folder / f".{name}", folder / name, durable=False)
    if rank == 0 and len(parts) > 1:
        total = sum(math.prod(each.shape) for each in parameters.values()) * dtype.itemsize
        where = {each: name for name, part in zip(names, parts) for each in part}
        index = {"metadata": {"total_size": total}, "weight_map": where}
        (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n")


def _files(folder: Path) -> dict[str, Path]:
    """In which file each tensor is."""
    if (folder / INDEX).exists():
        told = json.loads((folder / INDEX).read_text())["weight_map"]
        gone = sorted({file for file in told.values() if not (folder / file).exists()})
        if gone:
            raise ValueError(f"{folder / INDEX} names {_some(gone)}, which is not there")
        return {name: folder / file for name, file in told.items()}
    if not (folder / ONE).exists():
        raise ValueError(f"{folder} holds neither {ONE} nor {INDEX}")
    return dict.fromkeys(_opened(folder / ONE).keys(), folder / ONE)


def _opened(path: Path) -> Any:
    try:
        return package().safe_open(str(path), "pt")
    except package().SafetensorError as why:
        raise ValueError(f"{path} is not whole: {why}") from why


@torch.no_grad()
def _fill(parameter: Any, held: Any, where: str) -> None:
    if tuple(held.get_shape()) != tuple(parameter.shape):
        raise ValueError(
            f"{where} has shape {held.get_shape()}, and config.json makes it {list(parameter.shape)}"
        )
    if not shards.sharded(parameter):
        parameter.copy_(held[:])
        return
    box = shards.box(parameter)
    mine = tuple(slice(start, start + size) for start, size in zip(box.offset, box.shape))
    shards.local_of(parameter).copy_(held[mine] if box.numel else torch.empty(box.shape))


def _parts(parameters: dict[str, Any], width: int, largest: int) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for name, each in parameters.items():
        bytes_ = math.prod(each.shape) * width
        if part and size + bytes_ > largest:
            yield part
            part, size = [], 0
        part.append(name)
        size += bytes_
    yield part


def _holders(parameters: dict[str, Any]) -> dict[str, tuple[int, torch.device]]:
    """Where a model's layers are dealt out to stages: the first rank that holds each, and where it is to come."""
    present = [each for each in parameters.values() if not each.is_meta]
    if len(present) == len(parameters):
        return {}
    held: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(held, [not each.is_meta for each in parameters.values()])
    where = present[0].device
    return {name: (each.index(True), where) for name, *each in zip(parameters, *held)}


@torch.no_grad()
def _whole(parameter: Any, holder: tuple[int, torch.device] | None) -> Tensor:
    whole: Tensor = parameter.full_tensor() if shards.sharded(parameter) else parameter
    if holder:
        rank, device = holder
        whole = torch.empty_like(whole, device=device) if whole.is_meta else whole.contiguous()
        dist.broadcast(whole, rank)
    return whole.detach()


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
