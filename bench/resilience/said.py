"""The marks (one JSON line per event) that a training of the bench has written so far, read incrementally."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Mark = dict[str, Any]


class Said:
    """The marks of one training, in its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.marks: list[Mark] = []
        self._read = 0

    def take_in(self) -> None:
        """Read the complete lines written since the last call."""
        path = self.folder / "marks.jsonl"
        if path.exists():
            with path.open("rb") as file:
                file.seek(self._read)
                whole = file.read().rpartition(b"\n")[0]
            self._read += len(whole) + 1 if whole else 0
            self.marks += [json.loads(line) for line in whole.splitlines()]

    def of(self, kind: str, since: float = 0.0) -> list[Mark]:
        """Return the marks of a kind that were written after a time."""
        return [each for each in self.marks if each["kind"] == kind and each["time"] > since]

    def newest_step(self) -> int:
        """Return the highest step that any rank has completed."""
        return max((each["step"] for each in self.of("step")), default=0)
