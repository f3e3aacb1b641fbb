"""Base class of datasets over files with many samples each."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset

from clusterwright.runtime.datasets.index import spans


class Shards(Dataset[Any]):
    """The samples of several files, indexed in the order of the files' names; each read is one pread(2).

    `paths` are files, or folders of which all files with one of the suffixes are used. If a file changes, is added or
    renamed, the `fingerprint` changes.

    Raises:
        ValueError: there are no files, or one has no samples.
    """

    suffixes: tuple[str, ...] = ()

    def __init__(self, *paths: str | Path) -> None:
        self.paths = files(paths, self.suffixes)
        self._spans = [spans(path, self.scan) for path in self.paths]
        self._ends = list(itertools.accumulate(len(file_spans) // 2 for file_spans in self._spans))
        self._starts = [0, *self._ends]
        self._files = [-1] * len(self.paths)

    @staticmethod
    def scan(path: Path) -> Iterable[tuple[int, int]]:
        """Yield offset and length of each sample of a file; each kind of file has its own."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self._ends[-1]

    @property
    def blocks(self) -> tuple[int, ...]:
        """Return the number of samples of each file."""
        return tuple(len(file_spans) // 2 for file_spans in self._spans)

    @property
    def fingerprint(self) -> str:
        """Return a hash of the files' names, sizes and numbers of samples, in order."""
        hasher = hashlib.sha256()
        for path, samples in zip(self.paths, self.blocks):
            hasher.update(f"{path.name} {path.stat().st_size} {samples}\n".encode())
        return hasher.hexdigest()[:16]

    def locate(self, number: int) -> tuple[int, int]:
        """Return the index of the file that has a sample, and the sample's index in the file.

        Raises:
            IndexError: the dataset has no such sample.
        """
        if not 0 <= number < self._ends[-1]:
            raise IndexError(f"sample {number} of {len(self)}")
        shard = bisect.bisect_right(self._ends, number)
        return shard, number - self._starts[shard]

    def read(self, number: int) -> bytes:
        """Return the bytes of the sample with this index.

        Raises:
            IndexError: the dataset has no such sample.
        """
        shard, inside = self.locate(number)
        row = self._spans[shard]
        file = self._files[shard]
        if file < 0:
            file = self._files[shard] = os.open(self.paths[shard], os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(file, row[2 * inside + 1], row[2 * inside])

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without open files and mapped indexes; a worker opens its own."""
        return {"paths": self.paths, **{name: value for name, value in vars(self).items() if name[:1] != "_"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        Shards.__init__(self, *state["paths"])


def files(paths: Iterable[str | Path], suffixes: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the named files, whatever their suffix, and the visible files with a suffix in named folders, sorted.

    Folders are searched recursively; a named file need not exist.

    Raises:
        ValueError: there are none.
    """
    matches: list[Path] = []
    for path in map(Path, paths):
        inside = path.rglob("*") if path.is_dir() else (path,)
        matches += (candidate for candidate in inside if candidate == path or _is_shard(candidate, suffixes))
    if not matches:
        raise ValueError(
            f"no {' or '.join(suffixes)} files in {', '.join(map(str, paths)) or 'an empty list'}"
        )
    return tuple(sorted(matches))


def _is_shard(path: Path, suffixes: tuple[str, ...]) -> bool:
    return path.name.endswith(suffixes) and not path.name.startswith(".") and path.is_file()
