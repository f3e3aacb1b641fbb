"""The collectors, one module each; the module's name is the collector's.

`EVERY_S` is the interval, `TIMEOUT_S` the limit, `STAYS` whether the process lives between two collections;
`is_enabled(settings)` returns whether this host has it, and `collect(settings, state)` yields families; `state` is a
dictionary that lives as long as the process. An exception or a timeout drops its values and sets `collector_up` to 0.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Dict

from clusterwright.onhost.exporter.settings import ExporterSettings


def enabled_collectors(settings: ExporterSettings) -> Dict[str, ModuleType]:
    """Import all collectors and return the modules enabled on this host, by name.

    They are imported here, so that their processes share memory pages.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return {name: module for name, module in modules.items() if module.is_enabled(settings)}
