"""What follows from what: a failure that another one brings about is told as its consequence.

A mode says with `follows` what it may be a consequence of: a mode, a whole class, or `*` for whatever is known better
than by a general text (a launcher that reports the end of a process, a library that raises an exception again).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clusterwright.diagnose.judge.case import GENERAL, Case, before

ANY = "*"
LATE_S = 600  # what comes so long after is no cause of what was there before


def followed(cases: Sequence[Case]) -> list[Case]:
    """All cases; a root that follows from another one that is there is a cascade."""
    roots = [case for case in cases if case.role == "root" and not case.doubted]
    return [replace(case, role="cascade") if _follows(case, roots) else case for case in cases]


def _follows(case: Case, roots: Sequence[Case]) -> bool:
    if case.role != "root" or not case.mode.follows:
        return False
    return any(_brings(root, case) for root in roots if root.mode.id != case.mode.id)


def _brings(cause: Case, effect: Case) -> bool:
    """Whether one may have brought about the other, by what is known of both, their times and their hosts."""
    named = effect.mode.follows
    if cause.mode.id in named:
        return not _too_late(cause, effect) and not _elsewhere(cause, effect)
    if cause.mode.certain <= GENERAL or cause.places <= effect.places:
        return False  # too little is known of it, or it is another reading of the very lines
    if cause.mode.kind in named and not _named_by(cause, effect):
        return not _too_late(cause, effect) and not _elsewhere(cause, effect)
    return ANY in named and ANY not in cause.mode.follows and before(effect.first, cause.first) is not True


def _named_by(cause: Case, effect: Case) -> bool:
    """Whether it is the other way round: of two of one class that name each other's, neither follows."""
    return effect.mode.id in cause.mode.follows or effect.mode.kind in cause.mode.follows


def _too_late(cause: Case, effect: Case) -> bool:
    one, other = cause.first, effect.first
    if one.seconds is None or other.seconds is None or one.clock != other.clock:
        return False
    return one.seconds - other.seconds > LATE_S


def _elsewhere(cause: Case, effect: Case) -> bool:
    """Whether a failure of a host is told of hosts that the cause is not told of."""
    if effect.mode.exclude != "host":
        return False
    hosts, others = _hosts(cause), _hosts(effect)
    return bool(hosts and others) and not hosts & others


def _hosts(case: Case) -> set[str]:
    return {name for each in case.sightings for name in (each.host, each.names.get("host", "")) if name}
