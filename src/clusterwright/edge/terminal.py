"""Run an interactive program in the foreground."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


def run_interactive(argv: Sequence[str]) -> int:
    """Run a program on our terminal and return its exit code; Ctrl-C goes to the program."""
    process = subprocess.Popen(list(argv))
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue
