"""A program that has the terminal for as long as it runs."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence


def run_interactive(argv: Sequence[str]) -> int:
    """Its exit code; Ctrl-C goes to it, and is not ours."""
    process = subprocess.Popen(list(argv))
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue
