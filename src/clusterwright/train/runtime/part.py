"""One rank's file of a checkpoint, in the safetensors format, so that any tool can read it without us.

Eight bytes say how long the header is; the header (JSON) says name, dtype, shape and place of each tensor;
then the tensors' bytes. Nothing in it is pickled but the tensors named `rank` and `tree`, which hold what is
not a tensor.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from clusterwright.train.runtime import memory
from clusterwright.train.runtime.digest import Digest

DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint8: "U8", torch.bool: "BOOL", torch.complex64: "C64",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}  # fmt: skip
_NAMED = {name: dtype for dtype, name in DTYPES.items()}
_LARGEST_HEADER = 100_000_000  # bytes; the limit of the safetensors format itself


class Damaged(Exception):  # noqa: N818 (said of a checkpoint; nothing went wrong in the program)
    """What is on disk is not what was saved."""


@dataclass(frozen=True)
class Part:
    """What the manifest says of one file."""

    file: str
    bytes: int
    digest: str


def write(path: Path, tensors: dict[str, torch.Tensor]) -> Part:
    """Write the tensors and see them to the disk."""
    digest = Digest()
    with path.open("wb", buffering=0) as file:
        for piece in _pieces(tensors):
            digest.update(piece)
            _write_all(file, piece)
        os.fsync(file.fileno())
        return Part(path.name, file.tell(), digest.hexdigest())


def read(folder: Path, part: Part) -> dict[str, torch.Tensor]:
    """The tensors of a part, after every byte that they are made of has been verified."""
    return dict(_verified(folder, part))


def verify(folder: Path, part: Part) -> None:
    """Read every byte; raises Damaged, or OSError when it cannot be read."""
    for _ in _verified(folder, part):
        pass


def _pieces(tensors: dict[str, torch.Tensor]) -> Iterator[torch.Tensor]:
    """Header and tensors as flat bytes in main memory; only one tensor at a time is copied there."""
    header: dict[str, Any] = {}
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield memory.tensor(len(text).to_bytes(8, "little") + text)
    for tensor in tensors.values():
        flat = tensor.cpu().contiguous().flatten()
        if flat.data_ptr() % 8:  # a view into the middle of another; the checksum reads words of eight bytes
            flat = flat.clone()
        if flat.numel():
            yield flat.view(torch.uint8)


def _verified(folder: Path, part: Part) -> Iterator[tuple[str, torch.Tensor]]:
    """Each tensor as it is read; those seen so far count for nothing if this raises."""
    digest = Digest()
    with _open(folder / part.file) as file:
        if (size := os.fstat(file.fileno()).st_size) != part.bytes:
            raise Damaged(f"{part.file} has {size} bytes, its manifest says {part.bytes}")
        for name, dtype, shape, length in _header(file, part, digest):
            data = torch.empty(length, dtype=torch.uint8)
            if length:
                _read_all(file, data)
                digest.update(data)
            yield name, data.view(dtype).view(shape)
    if digest.hexdigest() != part.digest:
        raise Damaged(
            f"{part.file} holds other bytes than were saved: its checksum differs from its manifest's"
        )


def _open(path: Path) -> Any:
    try:
        return path.open("rb", buffering=0)
    except FileNotFoundError:
        raise Damaged(f"{path.name} is missing") from None


def _header(file: Any, part: Part, digest: Digest) -> list[tuple[str, torch.dtype, list[int], int]]:
    """Name, dtype, shape and bytes of each tensor, in the order of the file; none larger than the file."""
    try:
        length = int.from_bytes(file.read(8), "little")
        if length > min(part.bytes, _LARGEST_HEADER):
            raise Damaged(f"{part.file} has a header of {length} bytes, more than the file itself")
        file.seek(0)
        text = torch.empty(8 + length, dtype=torch.uint8)
        _read_all(file, text)
        digest.update(text)
        rows = [_row(name, entry) for name, entry in json.loads(bytes(memory.view(text[8:]))).items()]
    except (ValueError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise Damaged(f"{part.file} has a header that cannot be read: {error}") from None
    if 8 + length + sum(row[3] for row in rows) != part.bytes:
        raise Damaged(f"{part.file} has a header that speaks of more or fewer bytes than there are")
    return rows


def _row(name: str, entry: dict[str, Any]) -> tuple[str, torch.dtype, list[int], int]:
    start, end = entry["data_offsets"]
    dtype, shape = _NAMED[entry["dtype"]], [int(size) for size in entry["shape"]]
    numel = torch.Size(shape).numel()
    if min(shape, default=0) < 0 or end - start != numel * dtype.itemsize:
        raise ValueError(f"{name} of shape {shape} is {end - start} bytes")
    return name, dtype, shape, end - start


def _write_all(file: Any, piece: torch.Tensor) -> None:
    view, done = memory.view(piece), 0
    while done < len(view):  # write(2) takes at most 2 GiB at once
        done += file.write(view[done:])


def _read_all(file: Any, piece: torch.Tensor) -> None:
    view, done = memory.view(piece), 0
    while done < len(view):
        if not (got := file.readinto(view[done:])):
            raise Damaged(f"{file.name} ends early")
        done += got
