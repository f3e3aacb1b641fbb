"""Where the samples of a file lie: found by reading it once, and kept beside it for all ranks and the next run.

An index is a row of unsigned 64-bit numbers, two for each sample: its first byte, and how many there are.
"""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from clusterwright.onhost.lib.files import replacing

Spans = Sequence[int]
Scan = Callable[[Path], Iterable[tuple[int, int]]]

_HEAD = struct.Struct("<8s4Q")  # mark, size and time of the file, samples, 0
_MAGIC = b"wright1\n"


def spans(path: Path, scan: Scan) -> Spans:
    """The spans of a file's samples; read from the index beside it, where that is of this very file.

    Where the folder cannot be written to, the index is made anew in each run, in memory.

    Raises:
        ValueError: the file has no samples.
    """
    index_path = path.with_name(f".{path.name}.index")
    result = _read_index(index_path, path)
    if result is None:
        numbers = array("Q", (number for span in scan(path) for number in span))
        result = numbers
        if numbers and _write_index(index_path, path, numbers):
            result = _read_index(index_path, path) or numbers
    if not result:
        raise ValueError(f"{path} holds no samples: leave it out, or make it anew")
    return result


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _read_index(index_path: Path, path: Path) -> Spans | None:
    """Mapped, so that all ranks of a host share its pages; nothing where it is of another file, or cut short."""
    try:
        with index_path.open("rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return None
            magic, size, changed, count, _ = _HEAD.unpack(head)
            length = _HEAD.size + 16 * count
            if (
                magic != _MAGIC
                or (size, changed) != _state(path)
                or os.fstat(file.fileno()).st_size != length
            ):
                return None
            mapped = mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ)
    except OSError:
        return None
    return memoryview(mapped)[_HEAD.size :].cast("Q")


def _write_index(index_path: Path, path: Path, numbers: array[int]) -> bool:
    """Whole or not at all; several ranks may do it at once, with the same bytes."""
    try:
        with replacing(index_path) as file:
            file.write(_HEAD.pack(_MAGIC, *_state(path), len(numbers) // 2, 0))
            numbers.tofile(file)
    except OSError:
        return False
    return True
