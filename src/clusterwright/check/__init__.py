"""Checks of the hosts of a cluster: facts are read once per host, each check judges them and returns verdicts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.check.runner import run
    from clusterwright.check.verdict import Status, Verdict

__all__ = ["Status", "Verdict", "run"]
# Imported on first use: `why` reads the log of a BMC without the runner and its hundred modules.
_MODULES = {"Status": "verdict", "Verdict": "verdict", "run": "runner"}

if not TYPE_CHECKING:  # a type checker sees the imports above, and reports other names

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
