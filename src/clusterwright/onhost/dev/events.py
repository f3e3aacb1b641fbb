"""Events of a development session: JSON lines in its folder, which the control host polls."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List

FILE = "said.jsonl"


class Trouble(Exception):  # noqa: N818 (an answer, shown by the caller)
    """An error for the user, with a code and a fix."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code, self.message, self.fix = code, message, fix


def append_event(folder: str, event: str, **more: Any) -> None:
    """Append an event to the session's file, which exists from the start.

    NFS shows a new line at once, a new file only after a while.
    """
    with open(os.path.join(folder, FILE), "a", encoding="utf-8") as file:
        file.write(json.dumps({"event": event, **more}) + "\n")


def read_events(folder: str) -> List[Dict[str, Any]]:
    """Return the events of a session from all complete lines of its file; empty if there is no file yet."""
    try:
        with open(os.path.join(folder, FILE), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
