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
_MARK = b"wright1\n"


def spans(path: Path, scan: Scan) -> Spans:
    """The spans of a file's samples; read from the index beside it, where that is of this very file.

    Where the folder cannot be written to, the index is made anew in each run, in memory.

    Raises:
        ValueError: the file has no samples.
    """
    kept = path.with_name(f".{path.name}.index")
    found = _kept(kept, path)
    if found is None:
        made = array("Q", (number for span in scan(path) for number in span))
        found = made
        if made and _keep(kept, path, made):
            found = _kept(kept, path) or made
    if not found:
        raise ValueError(f"{path} holds no samples: leave it out, or make it anew")
    return found


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _kept(kept: Path, path: Path) -> Spans | None:
    """Mapped, so that all ranks of a host share its pages; nothing where it is of another file, or cut short."""
    try:
        with kept.open("rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return None
            mark, size, changed, count, _ = _HEAD.unpack(head)
            whole = _HEAD.size + 16 * count
            if mark != _MARK or (size, changed) != _state(path) or os.fstat(file.fileno()).st_size != whole:
                return None
            mapped = mmap.mmap(file.fileno(), whole, access=mmap.ACCESS_READ)
    except OSError:
        return None
    return memoryview(mapped)[_HEAD.size :].cast("Q")


def _keep(kept: Path, path: Path, made: array[int]) -> bool:
    """Whole or not at all; several ranks may do it at once, with the same bytes."""
    try:
        with replacing(kept) as file:
            file.write(_HEAD.pack(_MARK, *_state(path), len(made) // 2, 0))
            made.tofile(file)
    except OSError:
        return False
    return True
