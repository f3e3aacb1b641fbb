"""Files of the kernel's /sys and /proc. Python 3.6."""

import os
from typing import List, Optional


def read(*parts: str) -> str:
    """A file's text, or nothing: some entries answer with an error when they are not in use."""
    try:
        with open(os.path.join(*parts), encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def listed(*parts: str) -> List[str]:
    """What is in a folder, numbers in their order."""
    try:
        return sorted(os.listdir(os.path.join(*parts)), key=lambda name: (len(name), name))
    except OSError:
        return []


def number(path: str) -> Optional[int]:
    """What a counter says; None for one that is not there or is a word, such as `max`."""
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None
