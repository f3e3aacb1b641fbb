"""Lines for the job's output and the agents' log; on a full disk they are lost, and nothing else fails."""

from __future__ import annotations

import os


def out(text: str) -> None:
    """Write one line to standard output, unbuffered; a failure is ignored."""
    _write(1, text)


def error(text: str) -> None:
    """Write one line to standard error, unbuffered; a failure is ignored."""
    _write(2, text)


def _write(file: int, text: str) -> None:
    """Write one line to a file descriptor, unbuffered; a failure is ignored.

    A failed write in Python's buffer would fail again at exit and change the exit code.
    """
    try:
        os.write(file, f"{text}\n".encode(errors="replace"))
    except OSError:
        return
