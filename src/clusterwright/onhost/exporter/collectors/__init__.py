"""The collectors, one module each; the module's name is the collector's.

`EVERY_S` is the interval, `TIMEOUT_S` the limit, `STAYS` whether the process lives between two collections;
`is_enabled(settings)` returns whether this host has it, and `collect(settings, state)` yields families; `state` is a
dictionary that lives as long as the process. An exception or a timeout drops its values and sets `collector_up` to 0.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Dict, List

from clusterwright.onhost.exporter.collectors import control_host
from clusterwright.onhost.exporter.settings import ExporterSettings


def enabled_collectors(settings: ExporterSettings) -> Dict[str, ModuleType]:
    """Import the collectors of this host and return the enabled modules by name.

    They are imported here, so that their processes share memory pages. Those of the control host are imported only
    there: the readers of Slurm and runs took half of a host's start.
    """
    names = _module_names(__name__, __path__)
    names += _module_names(control_host.__name__, control_host.__path__) if settings.control else []
    modules = {name.rpartition(".")[2]: importlib.import_module(name) for name in sorted(names)}
    return {name: module for name, module in modules.items() if module.is_enabled(settings)}


def _module_names(package: str, folders: List[str]) -> List[str]:
    return [f"{package}.{module.name}" for module in pkgutil.iter_modules(folders) if not module.ispkg]
