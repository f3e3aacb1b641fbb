"""The launchers and frameworks, by the files in their folders; each is imported on first use."""

from __future__ import annotations

import importlib
import os
from typing import Dict, List

from clusterwright.onhost.adapters.adapter import Adapter
from clusterwright.onhost.adapters.launcher import Launcher
from clusterwright.onhost.frameworks import __name__ as frameworks
from clusterwright.onhost.frameworks import __path__ as framework_folders
from clusterwright.onhost.launchers import __name__ as launchers
from clusterwright.onhost.launchers import __path__ as launcher_folders


def launcher(name: str) -> Launcher:
    """Import the module of the launcher of that name, and return its description."""
    value: Launcher = importlib.import_module(f"{launchers}.{name}").LAUNCHER
    return value


def adapter(name: str) -> Adapter:
    """Import and return the adapter of the framework of that name."""
    value: Adapter = importlib.import_module(f"{frameworks}.{name}").ADAPTER
    return value


def launcher_names() -> List[str]:
    """Return the sorted names of all launchers."""
    return sorted(_files(launcher_folders))


def framework_names() -> List[str]:
    """Return the sorted names of all frameworks."""
    return sorted(_files(framework_folders))


def summaries() -> Dict[str, str]:
    """Return each launcher's description by name: the first line of its file, which is not imported."""
    descriptions = {}
    for name, path in sorted(_files(launcher_folders).items()):
        with open(path, encoding="utf-8") as file:
            descriptions[name] = file.readline().strip().strip('"').rstrip(".")
    return descriptions


def _files(folders: List[str]) -> Dict[str, str]:
    """Return the module files in the folders by name; of equal names the first folder's."""
    paths: Dict[str, str] = {}
    for folder in folders:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            stem, ending = os.path.splitext(name)
            if ending == ".py" and stem.isidentifier() and stem != "__init__":
                paths.setdefault(stem, os.path.join(folder, name))
    return paths
