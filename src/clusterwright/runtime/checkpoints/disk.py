"""Writes, reads and verifies parts as files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import torch

from clusterwright.runtime.checkpoints import digest, memory, part
from clusterwright.runtime.checkpoints.part import Layout, Part, Reader
from clusterwright.runtime.checkpoints.source import FileSource


def write(path: Path, plan: Layout, staged: torch.Tensor) -> Part:
    """Write a staged part with checksums and header to a new file, and wait until it is on disk; return its record."""
    sums = []
    with path.open("wb", buffering=0) as file:
        os.lseek(file.fileno(), plan.body, os.SEEK_SET)
        for entry in plan.entries:
            for block in part.blocks(staged, entry):
                sums.append(digest.block_sum(block))
                _write(file.fileno(), memory.view(block))
        new_part = part.finish(plan, staged, b"".join(sums), path.name)
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        _write(file.fileno(), memory.view(staged[: plan.body]))
        os.fsync(file.fileno())
    return new_part


@contextlib.contextmanager
def reader(folder: Path, part_record: Part) -> Iterator[Reader]:
    """Open a checkpoint's part for a `with` block, with its length, header and checksums verified."""
    source = FileSource(folder / part_record.file)
    try:
        yield Reader(source, part_record)
    finally:
        source.close()


def verify(folder: Path, part_record: Part) -> None:
    """Read and verify every byte of a part in a file.

    Raises:
        Damaged: the part differs from what was saved.
        OSError: it cannot be read.
    """
    with reader(folder, part_record) as part_reader:
        part_reader.verify()


def read_back(path: Path, part_record: Part) -> None:
    """Verify a file just written by reading it from the disk; raises Damaged if it differs.

    Advises the kernel to drop the file from its page cache first; if it does not, only the cache is verified.
    """
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    verify(path.parent, part_record)


def _write(file: int, data: memoryview) -> None:
    written = 0
    while written < len(data):  # write(2) takes at most 2 GiB per call, less on a nearly full disk
        written += os.write(file, data[written:])
