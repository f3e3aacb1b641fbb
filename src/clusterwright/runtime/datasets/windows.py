"""A dataset of fixed-length windows of text bytes or tokens."""

from __future__ import annotations

import bisect
import hashlib
import itertools
from pathlib import Path

import torch
from torch.utils.data import Dataset

from clusterwright.runtime.datasets.shards import files


class Windows(Dataset[torch.Tensor]):
    """Windows of `context` + 1 consecutive numbers, overlapping by one, none across two files.

    Files are memory-mapped, so ranks of a host share pages and read only their own windows. `dtype` is the type in
    the files: torch.uint8 for bytes of text, torch.uint16 or int32 for tokens.

    Raises:
        ValueError: there are no files, or none is long enough for one window.
    """

    def __init__(
        self,
        *paths: str | Path,
        context: int,
        dtype: torch.dtype = torch.uint8,
        suffixes: tuple[str, ...] = (".txt", ".bin"),
    ) -> None:
        self.paths, self.context = files(paths, suffixes), context
        width = torch.empty(0, dtype=dtype).element_size()
        self._files = [
            torch.from_file(str(path), shared=False, size=path.stat().st_size // width, dtype=dtype)
            for path in self.paths
            if path.stat().st_size > context * width
        ]
        if not self._files:
            raise ValueError(f"none of {len(self.paths)} files is long enough for a window of {context + 1}")
        self._ends = list(itertools.accumulate((values.numel() - 1) // context for values in self._files))

    def __len__(self) -> int:
        return self._ends[-1]

    @property
    def fingerprint(self) -> str:
        """Return a hash of the files' names and sizes and the window's length."""
        hasher = hashlib.sha256(f"{self.context}\n".encode())
        for path in self.paths:
            hasher.update(f"{path.name} {path.stat().st_size}\n".encode())
        return hasher.hexdigest()[:16]

    def __getitem__(self, number: int) -> torch.Tensor:
        """Return the window with this index as an int64 tensor of length `context` + 1.

        Raises:
            IndexError: the dataset has no such window.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"window {number} of {len(self)}")
        file = bisect.bisect_right(self._ends, number)
        start = (number - (self._ends[file - 1] if file else 0)) * self.context
        return self._files[file][start : start + self.context + 1].to(torch.int64)
