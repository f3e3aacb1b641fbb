"""Checksums of blocks, so fast that verifying a checkpoint hardly costs more than reading it.

A block is at most 1 MiB of one tensor, read as 64-bit words in rows of 512. BLAKE2b takes the sums of the rows and
the sums of the columns, modulo 2^64, its last words and its length. Where a block's sum is kept says where the
block belongs.

Seen for certain (up to BLAKE2b): any change within one, two or three words, so each flipped bit, burst and swap of
two words; bytes too few or too many; a row that was zeroed, or swapped with another unless both have equal sums.
Not seen: four changed words at the corners of a rectangle whose errors cancel out, and rows swapped within a block
that have the same sum. Random damage escapes with a chance below 2^-64.
It is against faulty disks and torn writes, not against somebody who means to deceive.
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
_SERIAL_ROWS = 63  # torch shares out what has 32,768 elements or more (at::internal::GRAIN_SIZE)


def block_sum(block: torch.Tensor) -> bytes:
    """The sum of one block: flat, uint8, in main memory, at most BLOCK_BYTES.

    The work is not shared out over torch's threads, which training needs for itself.
    """
    aligned = block.numel() - block.numel() % _ROW_BYTES
    hasher = hashlib.blake2b(block.numel().to_bytes(8, "little"), digest_size=SUM_BYTES)
    if aligned:
        if block.storage_offset() % 8:  # a view of words must begin at one; rare, see part.layout
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
    """How many blocks a tensor of so many bytes has."""
    return -(-length // BLOCK_BYTES)


def _update(hasher: Any, sums: torch.Tensor) -> None:
    hasher.update(memory.view(sums.view(torch.uint8)))
