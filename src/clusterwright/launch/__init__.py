"""Submit jobs to Slurm, run them on this machine, or write their script; read the logs, events and curves of runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.launch.control import cancel, status
    from clusterwright.launch.listing import JobRow, list_jobs
    from clusterwright.launch.run import RunFolder
    from clusterwright.launch.submission import resume, submit

__all__ = ["JobRow", "RunFolder", "cancel", "list_jobs", "resume", "status", "submit"]
# Imported on first use: the modules need half a second, and most commands need one of them.
_MODULES = {
    "JobRow": "listing",
    "RunFolder": "run",
    "cancel": "control",
    "list_jobs": "listing",
    "resume": "submission",
    "status": "control",
    "submit": "submission",
}

if not TYPE_CHECKING:  # a type checker sees the imports above, and reports other names

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
