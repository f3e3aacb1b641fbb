"""Words for people, in the job's output and the agents' log; a disk that is full loses them, and nothing else."""

from __future__ import annotations

import os


def out(text: str) -> None:
    """One line to standard output."""
    _write(1, text)


def error(text: str) -> None:
    """One line to standard error."""
    _write(2, text)


def _write(file: int, text: str) -> None:
    """Past Python's buffer: what does not fit would stay there, fail again at the end, and change the exit code."""
    try:
        os.write(file, f"{text}\n".encode(errors="replace"))
    except OSError:
        return
