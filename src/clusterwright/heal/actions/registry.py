"""Which file does an action."""

from __future__ import annotations

import importlib
from types import ModuleType

_NAMED = {"return": "resume"}  # a word of Python's


def action(name: str) -> ModuleType:
    """The module of an action, such as `restart-service`."""
    return importlib.import_module(f"clusterwright.heal.actions.{_NAMED.get(name, name.replace('-', '_'))}")
