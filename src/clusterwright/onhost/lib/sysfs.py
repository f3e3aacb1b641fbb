"""Read files of the kernel's /sys and /proc. Python 3.6."""

import os
from typing import List, Optional


def read(*parts: str) -> str:
    """Return the text of the file at the joined `parts`, without blanks around it; empty if reading fails.

    The kernel refuses to read some unused files.
    """
    try:
        with open(os.path.join(*parts), encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def listed(*parts: str) -> List[str]:
    """Return the names in a folder, numbers in numeric order; empty if it cannot be read."""
    try:
        return sorted(os.listdir(os.path.join(*parts)), key=lambda name: (len(name), name))
    except OSError:
        return []


def number(path: str) -> Optional[int]:
    """Return the integer in a file; None if it is missing or a word such as `max`."""
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
