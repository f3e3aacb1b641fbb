"""The registry of facts and checks: every module in facts/ and checks/ is registered by its presence."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from types import ModuleType

from clusterwright import plugins
from clusterwright.check import checks as checks_folder
from clusterwright.check import facts as facts_folder
from clusterwright.check.expectation import Check, Occasion
from clusterwright.check.fact import Fact
from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _


def _members(folder: ModuleType) -> Iterable[object]:
    for module in pkgutil.iter_modules(folder.__path__):
        if not module.name.startswith("_"):
            yield getattr(importlib.import_module(f"{folder.__name__}.{module.name}"), module.name)


@cache
def all_facts() -> tuple[Fact[object], ...]:
    """Return every fact, sorted by name."""
    return tuple(fact for fact in _members(facts_folder) if isinstance(fact, Fact))


@cache
def all_checks() -> tuple[Check, ...]:
    """Return every check: ours by name, then those of plug-ins.

    Raises:
        WrightError: `plugin-broken`, `plugin-clash`.
    """
    ours = {check.id: check for check in _members(checks_folder) if isinstance(check, Check)}
    plugin_modules = plugins.modules("checks", ours, _lacks)
    return (*ours.values(), *(getattr(module, name) for name, (_plugin, module) in plugin_modules.items()))


def _lacks(name: str, module: ModuleType) -> str:
    if isinstance(getattr(module, name, None), Check):
        return ""
    return _("the module has no check `{name}`", name=name)


def choose(names: Iterable[str], on: Occasion = "deploy") -> tuple[Check, ...]:
    """Return the checks with these names, whatever their occasion; without names all checks of the occasion.

    Raises:
        WrightError: a name is not a check.
    """
    checks_by_id = {check.id: check for check in all_checks()}
    requested_names = tuple(names)
    for name in requested_names:
        if name not in checks_by_id:
            raise _unknown_check_error(name, checks_by_id)
    return tuple(
        check
        for check in checks_by_id.values()
        if (check.id in requested_names if requested_names else on in check.on)
    )


def _unknown_check_error(name: str, check_ids: Iterable[str]) -> WrightError:
    stem, names = name.replace("-", "_").lower(), list(check_ids)
    related = [
        check_id
        for check_id in names
        if stem.rstrip("s") in [part.rstrip("s") for part in check_id.split("_")]
    ]
    choices = _("choose one of {choices}", choices=", ".join(related))
    fix = choices if related else unknown_name_fix(stem, names)
    return WrightError.from_code(
        "no-such-check", _("no check has the name `{name}`", name=name), fix, exit_code=EXIT_USAGE
    )
