"""Files of a run and Slurm's programs, as far.py and its neighbours use them (standard library, Python 3.8)."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, List, Tuple


def in_queue(name: str) -> bool:
    """True while Slurm has a job of the run that has not ended; also when Slurm does not answer."""
    code, out = call("squeue", "--noheader", f"--name={name}", "--format=%i")
    return code != 0 or bool(out.strip())


def call(*argv: str) -> Tuple[int, str]:
    """A program's exit code and output; one that is missing counts as failed."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=30, check=False)  # noqa: S603 (Slurm's own programs)
    except (OSError, subprocess.TimeoutExpired):
        return 1, ""
    return done.returncode, done.stdout.decode(errors="replace")


def read_text(path: str) -> str:
    """The text; empty when there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def read_json(path: str) -> Dict[str, Any]:
    """The object; empty when there is none."""
    return read_line(read_text(path).encode())


def read_line(line: bytes) -> Dict[str, Any]:
    """One line's object; empty for a torn one."""
    try:
        document = json.loads(line)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def names_in(folder: str) -> List[str]:
    """Names in a folder; none when it is not there."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
