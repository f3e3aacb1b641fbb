"""Plug-ins: folders of checks, roles, failure modes, launchers and faults in other packages of the same environment.

A package names a folder of its own with an entry point in one of the groups `clusterwright.checks`, `.roles`,
`.failure_modes`, `.launchers` and `.faults`; its files have the form of those in our folder of that kind. Only the
packages that are installed where Clusterwright is are read, never PYTHONPATH or the current folder, so that root does
not execute the files of others. A kind is loaded by the commands that use it, which a broken plug-in refuses.
"""

from __future__ import annotations

import os
import pkgutil
import site
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from clusterwright.errors import WrightError
from clusterwright.i18n import _

GROUPS = ("checks", "roles", "failure_modes", "launchers", "faults")
VARIABLE = "CLUSTERWRIGHT_PLUGINS"  # `off` runs without plug-ins
_SITE = Path(__file__).parents[1]  # where this package is installed


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of a package: the folder `module` of files of one kind (`group`)."""

    group: str
    name: str
    module: str
    package: str
    version: str

    def error(self, reason: object, *, code: str = "plugin-broken") -> WrightError:
        """Return the error of this plug-in, which names the package and the entry point."""
        return WrightError.from_code(
            code,
            _(
                "plug-in {package} {version}, entry point `{name}` of clusterwright.{group}: {reason}",
                package=self.package,
                version=self.version,
                name=self.name,
                group=self.group,
                reason=reason,
            ),
            _(
                "correct or uninstall the package {package}; {variable}=off runs without plug-ins",
                package=self.package,
                variable=VARIABLE,
            ),
        )


@cache
def plugins() -> tuple[Plugin, ...]:
    """Return the entry points of all installed plug-ins, sorted; none of them is imported. () if turned off."""
    if os.environ.get(VARIABLE) == "off":
        return ()
    entry_points = {plugin for info in _with_entry_points() for plugin in _read(info)}
    return tuple(sorted(entry_points, key=lambda plugin: (plugin.group, plugin.package, plugin.name)))


def folder(plugin: Plugin) -> Path:
    """Return the plug-in's folder; only the packages around it are imported.

    Raises:
        WrightError: `plugin-broken`: there is no such package.
    """
    try:
        spec = find_spec(plugin.module)
    except Exception as error:
        raise plugin.error(f"{type(error).__name__}: {error}") from error
    if spec is None or not spec.submodule_search_locations:
        raise plugin.error(_("Python has no package `{module}`", module=plugin.module))
    return Path(next(iter(spec.submodule_search_locations)))


def names(plugin: Plugin) -> tuple[str, ...]:
    """Return the names of what a plug-in adds, by the files in its folder; empty if there is no such folder."""
    try:
        parent = folder(plugin)
    except WrightError:
        return ()
    files = parent.glob("*/*.toml") if plugin.group == "failure_modes" else parent.glob("[a-z]*.py")
    return tuple(sorted(str(file.relative_to(parent).with_suffix("")) for file in files))


def folders(group: str) -> dict[Path, Plugin]:
    """Return the folders of all plug-ins of a kind, each with its plug-in.

    Raises:
        WrightError: `plugin-broken`.
    """
    return {folder(plugin): plugin for plugin in plugins() if plugin.group == group}


def launchers() -> dict[str, tuple[Plugin, Path]]:
    """Return the files of launchers of plug-ins by name, each with its plug-in; a missing folder has none."""
    files: dict[str, tuple[Plugin, Path]] = {}
    for plugin in plugins():
        if plugin.group != "launchers":
            continue
        # Without its folder, a job that names its launcher is refused, and `wright plugins` has the reason.
        with suppress(WrightError):
            for path in sorted(folder(plugin).glob("[a-z]*.py")):
                files.setdefault(path.stem, (plugin, path))
    return files


def modules(
    group: str, ours: Container[str], lacks: Callable[[str, ModuleType], str]
) -> dict[str, tuple[Plugin, ModuleType]]:
    """Import and return the modules of all plug-ins of a kind, by name.

    `ours` are the names that are taken; `lacks` returns what a module of that name lacks, or an empty text.

    Raises:
        WrightError: `plugin-broken`: a module cannot be imported, or has another form; `plugin-clash`: its name is
            taken.
    """
    plugin_modules: dict[str, tuple[Plugin, ModuleType]] = {}
    for path, plugin in folders(group).items():
        for info in pkgutil.iter_modules([str(path)]):
            if info.name.startswith("_"):
                continue
            require_free(plugin, info.name, ours, plugin_modules)
            try:
                module = import_module(f"{plugin.module}.{info.name}")
            except Exception as error:
                raise plugin.error(f"{info.name}: {type(error).__name__}: {error}") from error
            if reason := lacks(info.name, module):
                raise plugin.error(f"{info.name}: {reason}")
            plugin_modules[info.name] = plugin, module
    return plugin_modules


def require_free(
    plugin: Plugin, name: str, ours: Container[str], plugin_modules: dict[str, tuple[Plugin, ModuleType]]
) -> None:
    """Raise WrightError if a name is taken by Clusterwright (`ours`) or another plug-in (`plugin_modules`).

    Raises:
        WrightError: `plugin-clash`.
    """
    owner = (
        "Clusterwright" if name in ours else plugin_modules[name][0].package if name in plugin_modules else ""
    )
    if owner:
        reason = _("the name `{name}` is taken by {owner}", name=name, owner=owner)
        raise plugin.error(reason, code="plugin-clash")


def _with_entry_points() -> Iterator[Path]:
    """Yield the metadata folders of packages with an entry point of ours.

    importlib.metadata, which takes 0.1 s to import, is not used.
    """
    for site_packages in dict.fromkeys([*map(Path, site.getsitepackages()), _SITE]):
        for file in sorted(site_packages.glob("*.dist-info/entry_points.txt")):
            if b"[clusterwright." in file.read_bytes():
                yield file.parent


def _read(info: Path) -> Iterator[Plugin]:
    from importlib.metadata import Distribution

    distribution = Distribution.at(info)
    package, version = distribution.metadata["Name"], distribution.version
    for point in distribution.entry_points:
        head, _dot, group = point.group.partition(".")
        if head == "clusterwright":
            yield Plugin(group, point.name, point.value, package, version)
