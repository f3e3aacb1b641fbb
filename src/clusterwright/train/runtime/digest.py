"""A checksum nearly as fast as memory, so that verifying a checkpoint hardly costs more than reading it.

Rows of 8 KiB are read as 64-bit words; each row gives the sum of its words times fixed weights, modulo 2^64
(multilinear hashing, Carter and Wegman 1979). A product says little about the highest bits of a word (two flipped
signs in a row would pass), so the sums are made twice, the second time with the words beginning four bytes later.
SHA-256 takes the sums, the bytes left over and the lengths. A change within one word is always seen, as the weights
are odd and so have inverses; any other damage escapes with a chance of about 2^-32.
It is against faulty disks and torn writes, not against somebody who means to deceive.
Its speed beside that of SHA-256 alone: bench/checkpoint.py.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor

import torch

from clusterwright.train.runtime import memory

_WORDS = 1024  # 8 KiB of weights stay in the first-level cache
_ROW_BYTES = 8 * _WORDS


class Digest:
    """Takes pieces of bytes in their order; where one piece ends and the next begins is part of the sum.

    A thread does the work, beside whoever reads or writes the next piece; a piece may not change until `hexdigest`.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._worker = ThreadPoolExecutor(1, "digest")
        self._taken: list[Future[None]] = []

    def update(self, piece: torch.Tensor) -> None:
        """Take one piece: a flat uint8 tensor in main memory."""
        self._taken.append(self._worker.submit(self._take, piece))

    def hexdigest(self) -> str:
        """64 hexadecimal digits, when all pieces are taken; the last word."""
        self._worker.shutdown()
        for each in self._taken:
            each.result()
        return self._hash.hexdigest()

    def _take(self, piece: torch.Tensor) -> None:
        whole = piece.numel() - piece.numel() % _ROW_BYTES
        self._hash.update(piece.numel().to_bytes(8, "little"))
        if whole:
            self._add(torch.mv(piece[:whole].view(torch.int64).view(-1, _WORDS), _WEIGHTS))
            later = torch.frombuffer(memory.view(piece), dtype=torch.int64, offset=4, count=whole // 8 - 1)
            rows = later[: whole // 8 - _WORDS].view(-1, _WORDS)
            self._add(torch.mv(rows, _WEIGHTS))
            self._add(torch.dot(later[rows.numel() :], _WEIGHTS[:-1]).view(1))
        self._hash.update(memory.view(piece[whole:]))

    def _add(self, sums: torch.Tensor) -> None:
        self._hash.update(memory.view(sums.view(torch.uint8)))


def _weights() -> torch.Tensor:
    """The same 1024 odd words everywhere."""
    stream = bytearray(hashlib.shake_256(b"clusterwright checkpoint, format 1").digest(_ROW_BYTES))
    return torch.frombuffer(stream, dtype=torch.int64) | 1


_WEIGHTS = _weights()
