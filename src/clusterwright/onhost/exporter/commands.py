"""Programs that are asked, each within its own limit."""

from __future__ import annotations

import os
import subprocess
from typing import Dict, List, Optional


def said(argv: List[str], limit_s: float, more: Optional[Dict[str, str]] = None) -> Optional[str]:
    """What it printed; None where it failed, is not there, or gave no answer in time."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=limit_s,
            env={**os.environ, "LC_ALL": "C", **(more or {})}, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
