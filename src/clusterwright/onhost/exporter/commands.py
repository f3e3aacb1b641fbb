"""Runs commands with a time limit."""

from __future__ import annotations

import os
from typing import Dict, List, Optional

from clusterwright.onhost.lib import processes


def command_output(argv: List[str], limit_s: float, more: Optional[Dict[str, str]] = None) -> Optional[str]:
    """Run a command and return its stdout; None if it failed, is missing, or exceeded the limit."""
    result = processes.run(argv, limit_s, env={**os.environ, "LC_ALL": "C", **(more or {})})
    return result.out if result.ok else None
