"""Every fact and check there is: a file dropped into facts/ or checks/ is registered by being there."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from types import ModuleType

from clusterwright.check import checks as checks_folder
from clusterwright.check import facts as facts_folder
from clusterwright.check.expectation import Check, Occasion
from clusterwright.check.fact import Fact
from clusterwright.errors import EXIT_USAGE, WrightError


def _members(folder: ModuleType) -> Iterable[object]:
    for module in pkgutil.iter_modules(folder.__path__):
        if not module.name.startswith("_"):
            yield getattr(importlib.import_module(f"{folder.__name__}.{module.name}"), module.name)


@cache
def all_facts() -> tuple[Fact[object], ...]:
    """Every fact, by name."""
    return tuple(found for found in _members(facts_folder) if isinstance(found, Fact))


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, by name."""
    return tuple(found for found in _members(checks_folder) if isinstance(found, Check))


def choose(names: Iterable[str], on: Occasion = "deploy") -> tuple[Check, ...]:
    """The checks of these names on any occasion, in their own order; those of the occasion for no names.

    Raises:
        WrightError: there is no check of one of the names.
    """
    known = {each.id: each for each in all_checks()}
    wanted = tuple(names)
    for name in wanted:
        if name not in known:
            raise _no_such_check(name, known)
    return tuple(each for each in known.values() if (each.id in wanted if wanted else on in each.on))


def _no_such_check(name: str, known: Iterable[str]) -> WrightError:
    near = difflib.get_close_matches(name.replace("-", "_"), list(known), n=3, cutoff=0.5)
    mend = (
        f"did you mean {' or '.join(f'`{each}`' for each in near)}?"
        if near
        else "docs/reference/checks.md lists all of them"
    )
    return WrightError.of("no-such-check", f"there is no check `{name}`", mend, exit_code=EXIT_USAGE)
