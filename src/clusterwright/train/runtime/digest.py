"""A checksum as fast as memory, so that verifying a checkpoint hardly costs more than reading it.

Rows of 8 KiB are read as 64-bit words and multiplied with fixed odd weights, modulo 2^64 (multilinear
hashing, Carter and Wegman 1979); SHA-256 takes the sums, the odd bytes left and the lengths. An odd weight
has an inverse, so a change within one word is always seen; any other damage escapes with a chance far below
2^-32. It is against faulty disks and torn writes, not against somebody who means to deceive. Measured on one
EPYC core: 11 GB/s, where SHA-256 alone makes 1.55, BLAKE2b 0.69 and CRC-32 3.4 (bench/checkpoint.py).
"""

from __future__ import annotations

import hashlib

import torch

from clusterwright.train.runtime import memory

_WORDS = 1024  # 8 KiB of weights stay in the first-level cache
_ROW_BYTES = 8 * _WORDS


class Digest:
    """Takes pieces of bytes in their order; where one piece ends and the next begins is part of the sum."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, piece: torch.Tensor) -> None:
        """Take one piece: a flat uint8 tensor in main memory."""
        whole = piece.numel() - piece.numel() % _ROW_BYTES
        self._hash.update(piece.numel().to_bytes(8, "little"))
        if whole:
            sums = torch.mv(piece[:whole].view(torch.int64).view(-1, _WORDS), _WEIGHTS)
            self._hash.update(memory.view(sums.view(torch.uint8)))
        self._hash.update(memory.view(piece[whole:]))

    def hexdigest(self) -> str:
        """64 hexadecimal digits."""
        return self._hash.hexdigest()


def _weights() -> torch.Tensor:
    """The same 1024 odd words everywhere."""
    stream = bytearray(hashlib.shake_256(b"clusterwright checkpoint, format 1").digest(_ROW_BYTES))
    return torch.frombuffer(stream, dtype=torch.int64) | 1


_WEIGHTS = _weights()
