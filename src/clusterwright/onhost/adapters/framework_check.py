"""Check that the job's Python has the framework: `run_module.py ...adapters.framework_check RUN FRAMEWORK`.

A run whose framework is missing ends with the command that installs it, before hosts wait for each other.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from typing import Sequence

from clusterwright.onhost.adapters import registry
from clusterwright.onhost.supervisor import console
from clusterwright.onhost.supervisor.folder import Folder


def unfit(name: str) -> str:
    """Return which module of the framework is missing and how to install it; empty if none is. Imports nothing."""
    framework = registry.adapter(name)
    modules = framework.module.split("|")
    if any(not module or importlib.util.find_spec(module) for module in modules):
        return ""
    return f"{modules[0]} is not installed for {sys.executable}; fix: {framework.install}"


def main(arguments: Sequence[str]) -> int:
    """Check that the job's Python has the framework; return 0, or end the run as failed and return 1."""
    run, name = arguments
    sys.path.insert(0, os.getcwd())  # the job's code can contain the framework; nothing of it is imported
    reason = unfit(name)
    if not reason:
        return 0
    console.out(f"{time.strftime('%H:%M:%S')} failed: {reason}")
    Folder(run).write("ended.json", {"outcome": "failed", "code": 1, "reason": reason, "time": time.time()})
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
