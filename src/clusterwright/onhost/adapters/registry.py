"""The launchers and the frameworks, by the files in their folders; none is imported before it is used."""

from __future__ import annotations

import importlib
import os
from typing import Dict, List

from clusterwright.onhost import frameworks, launchers
from clusterwright.onhost.adapters.adapter import Adapter
from clusterwright.onhost.adapters.launcher import Launcher


def launcher(name: str) -> Launcher:
    """The launcher of that name."""
    found: Launcher = importlib.import_module(f"{launchers.__name__}.{name}").LAUNCHER
    return found


def adapter(name: str) -> Adapter:
    """The adapter of that framework."""
    found: Adapter = importlib.import_module(f"{frameworks.__name__}.{name}").ADAPTER
    return found


def launcher_names() -> List[str]:
    """All launchers, by name."""
    return sorted(_files(launchers.__path__))


def framework_names() -> List[str]:
    """All frameworks, by name."""
    return sorted(_files(frameworks.__path__))


def summaries() -> Dict[str, str]:
    """Each launcher's description: the first line of its file, which is not executed."""
    found = {}
    for name, path in sorted(_files(launchers.__path__).items()):
        with open(path, encoding="utf-8") as file:
            found[name] = file.readline().strip().strip('"').rstrip(".")
    return found


def _files(folders: List[str]) -> Dict[str, str]:
    """Modules by name, the first folder's first."""
    found: Dict[str, str] = {}
    for folder in folders:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            stem, ending = os.path.splitext(name)
            if ending == ".py" and stem.isidentifier() and stem != "__init__":
                found.setdefault(stem, os.path.join(folder, name))
    return found
