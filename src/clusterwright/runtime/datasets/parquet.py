"""A dataset of the rows of Parquet files, read by pyarrow."""

from __future__ import annotations

import bisect
import functools
import hashlib
import itertools
import os
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset

from clusterwright.runtime.datasets.shards import files


class Parquet(Dataset[Any]):
    """Each row as a dict of all columns, or of the `columns` named.

    Row groups are read as a whole, and the last `cache_size` are cached. So use an order with locality:
    `Sampler(len(data), blocks=data.blocks)`.

    Raises:
        ValueError: there are no files, or no rows.
    """

    def __init__(
        self, *paths: str | Path, columns: tuple[str, ...] | None = None, cache_size: int = 8
    ) -> None:
        import pyarrow.parquet

        # Prebuffering a group's columns is for storage over HTTP; on files it costs a sixth of the read time.
        self._open = functools.partial(pyarrow.parquet.ParquetFile, pre_buffer=False)
        self.paths, self._columns, self._cache_size = files(paths, (".parquet",)), columns, cache_size
        self._groups = [
            (path, group, count)
            for path in self.paths
            for group, count in enumerate(self._rows(path))
            if count
        ]
        if not self._groups:
            raise ValueError(f"{', '.join(map(str, paths))}: no rows")
        self._ends = list(itertools.accumulate(count for _, _, count in self._groups))
        self._starts = [0, *self._ends]
        self._row_cache: dict[int, dict[str, Any]] = {}  # by row, as a hit then takes one lookup
        self._cached_groups: list[int] = []  # groups in the cache, in read order
        self._files: dict[tuple[int, Path], Any] = {}  # by process: a forked one opens its own

    def _rows(self, path: Path) -> list[int]:
        try:
            metadata = self._open(path).metadata
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: not a readable Parquet file: {error}") from error
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def _file(self, path: Path) -> Any:
        key = os.getpid(), path
        if key not in self._files:
            self._files[key] = self._open(path)
        return self._files[key]

    def __len__(self) -> int:
        return self._ends[-1]

    @property
    def blocks(self) -> tuple[int, ...]:
        """Return the number of rows of each row group."""
        return tuple(count for _, _, count in self._groups)

    @property
    def fingerprint(self) -> str:
        """Return a hash of the files' names, sizes and row groups."""
        hasher = hashlib.sha256()
        for path, group, count in self._groups:
            hasher.update(f"{path.name} {path.stat().st_size} {group} {count}\n".encode())
        return hasher.hexdigest()[:16]

    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return the row with this index as a dict by column, from the cache if its row group is there.

        Raises:
            IndexError: the dataset has no such row.
        """
        row = self._row_cache.get(number)
        return self._read(number) if row is None else row

    def _read(self, number: int) -> dict[str, Any]:
        """Return a row as a dict; its whole row group goes into the cache, which drops the group read longest ago.

        Raises:
            IndexError: there is no such row.
        """
        if not 0 <= number < self._ends[-1]:
            raise IndexError(f"row {number} of {len(self)}")
        group = bisect.bisect_right(self._ends, number)
        while len(self._cached_groups) >= self._cache_size:
            evicted = self._cached_groups.pop(0)
            for row_number in range(self._starts[evicted], self._ends[evicted]):
                del self._row_cache[row_number]
        path, inside, _ = self._groups[group]
        columns = list(self._columns) if self._columns else None
        table = self._file(path).read_row_group(inside, columns=columns, use_threads=False)
        self._row_cache.update(enumerate(table.to_pylist(), self._starts[group]))
        self._cached_groups.append(group)
        return self._row_cache[number]
