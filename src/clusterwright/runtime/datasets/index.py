"""Index files with the byte offsets of a file's samples, built by one scan and stored next to the file.

An index is an array of unsigned 64-bit numbers, two per sample: its first byte and its length.
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

_HEAD = struct.Struct("<8s4Q")  # magic, size and mtime of the file, samples, 0
_MAGIC = b"wright1\n"


def spans(path: Path, scan: Scan) -> Spans:
    """Return offset and length of each sample of a file, flat, from its index if current, else by a scan.

    A scan writes the index next to the file; in a read-only folder it stays in memory, and each run scans again.

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
        raise ValueError(f"{path} has no samples; fix: remove or regenerate it")
    return result


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _read_index(index_path: Path, path: Path) -> Spans | None:
    """Return the numbers of an index, mapped, so that all ranks of a host share its pages.

    None if it is missing, outdated or truncated.
    """
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
    """Write the index of a dataset's file atomically; return True on success, False if that fails.

    Ranks may write the same bytes at once.
    """
    try:
        with replacing(index_path) as file:
            file.write(_HEAD.pack(_MAGIC, *_state(path), len(numbers) // 2, 0))
            numbers.tofile(file)
    except OSError:
        return False
    return True
