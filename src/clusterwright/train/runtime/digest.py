"""A checksum nearly as fast as memory, so that verifying a checkpoint hardly costs more than reading it.

Rows of 8 KiB are read as 64-bit words. Each row gives two sums of words times fixed weights, modulo 2^64
(multilinear hashing, Carter and Wegman 1979): one of the words, which sees what happens in their lower halves,
and one of their upper halves alone, because a product says little about its highest bits. SHA-256 takes the
sums, the bytes left over and the lengths. A change within one word is always seen, as the weights are odd and so
have inverses; any other damage escapes with a chance of about 2^-32.
It is against faulty disks and torn writes, not against somebody who means to deceive.
Its speed beside that of SHA-256 alone: bench/checkpoint.py.
"""

from __future__ import annotations

import hashlib

import torch

from clusterwright.train.runtime import memory

_WORDS = 1024  # 8 KiB of weights stay in the first-level cache
_ROW_BYTES = 8 * _WORDS
_CHUNK_BYTES = 256 * _ROW_BYTES  # 2 MiB: the upper halves of so many words stay in the second-level cache


class Digest:
    """Takes pieces of bytes in their order; where one piece ends and the next begins is part of the sum."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, piece: torch.Tensor) -> None:
        """Take one piece: a flat uint8 tensor in main memory."""
        whole = piece.numel() - piece.numel() % _ROW_BYTES
        self._hash.update(piece.numel().to_bytes(8, "little"))
        for start in range(0, whole, _CHUNK_BYTES):
            rows = piece[start : min(start + _CHUNK_BYTES, whole)].view(torch.int64).view(-1, _WORDS)
            for sums in (torch.mv(rows, _WEIGHTS[0]), torch.mv(rows >> 32, _WEIGHTS[1])):
                self._hash.update(memory.view(sums.view(torch.uint8)))
        self._hash.update(memory.view(piece[whole:]))

    def hexdigest(self) -> str:
        """64 hexadecimal digits."""
        return self._hash.hexdigest()


def _weights() -> torch.Tensor:
    """The same two rows of 1024 odd words everywhere."""
    stream = bytearray(hashlib.shake_256(b"clusterwright checkpoint, format 1").digest(2 * _ROW_BYTES))
    return torch.frombuffer(stream, dtype=torch.int64).view(2, _WORDS) | 1


_WEIGHTS = _weights()
