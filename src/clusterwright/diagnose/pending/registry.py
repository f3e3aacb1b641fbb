"""The functions that explain Slurm's reasons, by pattern; a family of reasons is one file in `reasons/`."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from clusterwright.diagnose.pending import reasons
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.waiting import Waiting

Explainer = Callable[[Facts], Waiting | None]
E = TypeVar("E", bound=Explainer)

_EXPLAINERS: list[tuple[re.Pattern[str], Explainer]] = []


def reason(pattern: str) -> Callable[[E], E]:
    """Return a decorator that registers a function for the reasons whose beginning matches the regular expression."""

    def register(explainer: E) -> E:
        _EXPLAINERS.append((re.compile(pattern), explainer))
        return explainer

    return register


def explainers(token: str) -> list[Explainer]:
    """Return the functions whose pattern matches a reason, the longest pattern first."""
    for module in iter_modules(reasons.__path__, f"{reasons.__name__}."):
        import_module(module.name)
    matches = [(pattern, explainer) for pattern, explainer in _EXPLAINERS if pattern.match(token)]
    return [explainer for _, explainer in sorted(matches, key=lambda pair: -len(pair[0].pattern))]
