"""Tables in Parquet files, a row a sample; by pyarrow."""

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
    """Each row as a dict of its columns, or of those named.

    Rows lie in groups that are read as a whole; the last few groups are kept. So they want an order in which neighbours
    come close to each other: `Sampler(len(data), blocks=data.blocks)`.

    Raises:
        ValueError: no file is there, or none has a row.
    """

    def __init__(self, *paths: str | Path, columns: tuple[str, ...] | None = None, keep: int = 8) -> None:
        import pyarrow.parquet

        # Buffering a group's columns together is for storage over HTTP; from files it costs a sixth of the reading.
        self._open = functools.partial(pyarrow.parquet.ParquetFile, pre_buffer=False)
        self.paths, self._columns, self._keep = files(paths, (".parquet",)), columns, keep
        self._groups = [
            (path, group, count)
            for path in self.paths
            for group, count in enumerate(self._rows(path))
            if count
        ]
        if not self._groups:
            raise ValueError(f"{', '.join(map(str, paths))}: not one row")
        self._ends = list(itertools.accumulate(count for _, _, count in self._groups))
        self._starts = [0, *self._ends]
        # Rows by number: one look-up finds one, where most are sought.
        self._held: dict[int, dict[str, Any]] = {}
        self._groups_held: list[int] = []  # whose rows these are, in the order in which they were read
        self._files: dict[tuple[int, Path], Any] = {}  # by process: one that was forked opens its own

    def _rows(self, path: Path) -> list[int]:
        try:
            metadata = self._open(path).metadata
        except (OSError, ValueError) as why:
            raise ValueError(f"{path}: not a Parquet file that can be read: {why}") from why
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def _file(self, path: Path) -> Any:
        mine = os.getpid(), path
        if mine not in self._files:
            self._files[mine] = self._open(path)
        return self._files[mine]

    def __len__(self) -> int:
        return self._ends[-1]

    @property
    def blocks(self) -> tuple[int, ...]:
        """How many rows each group has."""
        return tuple(count for _, _, count in self._groups)

    @property
    def fingerprint(self) -> str:
        """Of the files' names, sizes and groups."""
        told = hashlib.sha256()
        for path, group, count in self._groups:
            told.update(f"{path.name} {path.stat().st_size} {group} {count}\n".encode())
        return told.hexdigest()[:16]

    def __getitem__(self, number: int) -> dict[str, Any]:
        """A row."""
        row = self._held.get(number)
        return self._read(number) if row is None else row

    def _read(self, number: int) -> dict[str, Any]:
        """The row, and its whole group in place of the one that was read longest ago."""
        if not 0 <= number < self._ends[-1]:
            raise IndexError(f"row {number} of {len(self)}")
        group = bisect.bisect_right(self._ends, number)
        while len(self._groups_held) >= self._keep:
            gone = self._groups_held.pop(0)
            for each in range(self._starts[gone], self._ends[gone]):
                del self._held[each]
        path, inside, _ = self._groups[group]
        columns = list(self._columns) if self._columns else None
        table = self._file(path).read_row_group(inside, columns=columns, use_threads=False)
        self._held.update(enumerate(table.to_pylist(), self._starts[group]))
        self._groups_held.append(group)
        return self._held[number]
