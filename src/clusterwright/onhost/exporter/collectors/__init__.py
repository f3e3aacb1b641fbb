"""One file for each thing that is read; its name is the collector's.

`EVERY_S` and `TIMEOUT_S` say how often and how long at most, `STAYS` whether its process lives on between two looks,
`wanted(settings)` whether this host has it, and `collect(settings, state)` yields families; `state` is a dictionary
that lives as long as the process. Whatever it raises, or a time-out, takes its values away and sets `collector_up` 0.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Dict

from clusterwright.onhost.exporter.settings import Settings


def enabled_collectors(settings: Settings) -> Dict[str, ModuleType]:
    """Those of this host, by name; imported here, so that their processes share them."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: module for name, module in modules.items() if module.is_enabled(settings)}
