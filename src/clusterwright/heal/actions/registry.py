"""Find the module of an action."""

from __future__ import annotations

import importlib
from types import ModuleType

_NAMED = {"return": "resume"}  # `return` is a Python keyword


def action(name: str) -> ModuleType:
    """Return the module of an action by its name, such as `restart-service`."""
    return importlib.import_module(f"clusterwright.heal.actions.{_NAMED.get(name, name.replace('-', '_'))}")
