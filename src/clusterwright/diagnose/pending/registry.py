"""Who speaks for which of Slurm's reasons; a new family is one file in `reasons/`."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from clusterwright.diagnose.pending import reasons
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.waiting import Waiting

Speaker = Callable[[Facts], Waiting | None]
S = TypeVar("S", bound=Speaker)

_SPEAKERS: list[tuple[re.Pattern[str], Speaker]] = []


def reason(pattern: str) -> Callable[[S], S]:
    """The function speaks for reasons that the expression matches from their beginning."""

    def register(speaker: S) -> S:
        _SPEAKERS.append((re.compile(pattern), speaker))
        return speaker

    return register


def speakers(token: str) -> list[Speaker]:
    """Those who speak for a reason, the one with the longest expression first."""
    for module in iter_modules(reasons.__path__, f"{reasons.__name__}."):
        import_module(module.name)
    matches = [(pattern, speaker) for pattern, speaker in _SPEAKERS if pattern.match(token)]
    return [speaker for _, speaker in sorted(matches, key=lambda pair: -len(pair[0].pattern))]
