"""Checksums of blocks, fast enough that verifying a checkpoint hardly costs more than reading it.

A block is at most 1 MiB of one tensor, read as 64-bit words in rows of 512. BLAKE2b hashes the block's length, the sums
of its rows and of its columns modulo 2^64, and its last bytes. The position of a block's checksum in a part
identifies the block.

Always detected (up to BLAKE2b): any change within one, two or three words, so each flipped bit, burst and swap of
two words; missing or extra bytes; a row that was zeroed, or swapped with another unless both have equal sums.
Not detected: four changed words at the corners of a rectangle whose errors cancel out, and swapped rows of a block
that have equal sums. Random damage escapes with a probability below 2^-64.
It protects against faulty disks and torn writes, not against deliberate manipulation.
Its speed: bench/resilience/checkpoint.py.
"""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from clusterwright.runtime.checkpoints import memory

BLOCK_BYTES = 1 << 20
SUM_BYTES = 16
_ROW_ELEMENTS = 512
_ROW_BYTES = 8 * _ROW_ELEMENTS
_SERIAL_ROWS = 63  # torch splits 32,768 elements or more over threads (at::internal::GRAIN_SIZE)


def block_sum(block: torch.Tensor) -> bytes:
    """Return the checksum of one block: a flat uint8 CPU tensor of at most BLOCK_BYTES.

    Runs in the calling thread only, as training needs torch's threads.
    """
    aligned = block.numel() - block.numel() % _ROW_BYTES
    hasher = hashlib.blake2b(block.numel().to_bytes(8, "little"), digest_size=SUM_BYTES)
    if aligned:
        if block.storage_offset() % 8:  # a view as words must be aligned; rare, see part.layout
            block = block.clone()
        rows = block[:aligned].view(torch.int64).view(-1, _ROW_ELEMENTS)
        pieces = torch.split(rows, _SERIAL_ROWS) if torch.get_num_threads() > 1 else (rows,)
        for piece in pieces:
            _update(hasher, piece.sum(1))
        columns = pieces[0].sum(0)
        for piece in pieces[1:]:
            columns += piece.sum(0)
        _update(hasher, columns)
    hasher.update(memory.view(block[aligned:]))
    return hasher.digest()


def blocks(length: int) -> int:
    """Return the number of checksummed blocks of a tensor of `length` bytes."""
    return -(-length // BLOCK_BYTES)


def _update(hasher: Any, sums: torch.Tensor) -> None:
    hasher.update(memory.view(sums.view(torch.uint8)))
