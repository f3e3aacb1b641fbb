"""Read and write small state files that outlive the exporter, and read small files of the kernel."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict

from clusterwright.onhost.lib.files import write_atomic


def read(folder: str, name: str) -> Dict[str, Any]:
    """Return the JSON object stored as NAME.json in the folder; {} if it cannot be read or is no object."""
    try:
        with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def write(folder: str, name: str, document: Dict[str, Any]) -> bool:
    """Write a JSON object to NAME.json in the folder atomically; print the error and return False if that fails."""
    path = os.path.join(folder, f"{name}.json")
    try:
        os.makedirs(folder, exist_ok=True)
        write_atomic(path, json.dumps(document))
    except OSError as error:
        sys.stderr.write(f"cannot write {path}: {error}\n")
        return False
    return True


def text_of(path: str, most: int = 1 << 20) -> str:
    """Return at most the first `most` bytes of a file as text; "" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def number_of(path: str) -> Any:
    """Return the integer that a file contains; None if it cannot be read or contains another text."""
    try:
        return int(text_of(path, 64).strip())
    except ValueError:
        return None
