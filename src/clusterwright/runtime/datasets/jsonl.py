"""A dataset of JSON lines."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clusterwright.runtime.datasets.bad import BadSampleError
from clusterwright.runtime.datasets.shards import Shards


class Jsonl(Shards):
    """One JSON value per line, in UTF-8; empty lines are skipped."""

    suffixes = (".jsonl", ".ndjson")

    @staticmethod
    def scan(path: Path) -> Iterator[tuple[int, int]]:
        """Yield offset and length in bytes of each line of a file that is not blank, without its newline."""
        if not path.stat().st_size:
            return
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            start = 0
            while start < len(text):
                end = text.find(b"\n", start)
                end = len(text) if end < 0 else end
                if end > start and text[start:end].strip():
                    yield start, end - start
                start = end + 1

    def __getitem__(self, number: int) -> Any:
        """Return the parsed JSON value of the line with this index.

        Raises:
            BadSampleError: the line is not JSON.
        """
        try:
            return json.loads(self.read(number))
        except ValueError as error:
            shard, inside = self.locate(number)
            raise BadSampleError.from_sample(self.paths[shard], inside, f"not JSON: {error}") from error
