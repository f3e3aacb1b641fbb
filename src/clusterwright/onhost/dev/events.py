"""What a session says of itself: lines of JSON in its folder, which the control host reads as they come."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List

FILE = "said.jsonl"


class Trouble(Exception):  # noqa: N818 (an answer, which somebody else shows)
    """Why the session cannot be, by a code of ours, and the fix."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code, self.message, self.fix = code, message, fix


def append_event(folder: str, event: str, **more: Any) -> None:
    """Add a line. The file is there from the beginning: NFS shows a new line at once, a new file only after a while."""
    with open(os.path.join(folder, FILE), "a", encoding="utf-8") as file:
        file.write(json.dumps({"event": event, **more}) + "\n")


def read_events(folder: str) -> List[Dict[str, Any]]:
    """Whole lines so far; a torn one is not there yet."""
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
