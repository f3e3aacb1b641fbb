"""How much speaks for a case, beside all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clusterwright.diagnose.judge.case import GENERAL, Case, is_before

# What the role leaves of a case. A cascade says what went wrong elsewhere, so it stands where no root is known.
ROLES = {"root": 1.0, "cascade": 0.4, "teardown": 0.25, "benign": 0.0}
LATER = 0.8  # for each root that came clearly earlier,
LATEST = 0.5  # and no less than this
LESS_PARTICULAR = 0.5  # the same line is taken by a mode that knows more of it
OUTDONE = 0.35  # of a mode that takes what no other does, where there is another
CONFIRMED = 0.5  # of the doubt that is left is taken away
DOUBTED = 0.3  # what ruled out leaves
ODD = 1.1  # one rank alone says so, and the others say something else
MIN_RANKS = 3  # ranks, from which on one is odd


def weigh(case: Case, other_cases: list[Case]) -> float:
    """A weight from 0 to 1; the order of cases."""
    weight = case.mode.certain
    if case.confirmed:
        weight += (1 - weight) * CONFIRMED
    if case.doubted:
        weight *= DOUBTED
    weight *= ROLES[case.role]
    if case.role == "root":
        weight *= max(
            LATEST,
            LATER ** len({other_case.mode.kind for other_case in other_cases if _earlier(other_case, case)}),
        )
    if any(_is_more_specific(other_case, case) for other_case in other_cases):
        weight *= LESS_PARTICULAR
    if _general(case) and any(
        not _general(other_case) and other_case.role in {"root", "cascade"} and not other_case.doubted
        for other_case in other_cases
    ):
        weight *= OUTDONE
    if case.role == "root" and len(case.ranks) == 1 and _has_min_ranks(case, other_cases):
        weight = min(1.0, weight * ODD)
    return weight


def _general(case: Case) -> bool:
    return case.mode.certain <= GENERAL


def _earlier(case: Case, than: Case) -> bool:
    """Whether a root that is worth its name came before."""
    return (
        case.role == "root"
        and not case.doubted
        and not (_general(case) and not _general(than))
        and is_before(case.first_sighting, than.first_sighting) is True
    )


def _is_more_specific(case: Case, than: Case) -> bool:
    """Whether every line of a case is one that another, more particular one takes as well."""
    if case.doubted or case.role == "benign" or case.particular <= than.particular + 3:
        return case.role == "benign" and _same_lines(case, than) and case.particular > than.particular
    return _same_lines(case, than)


def _same_lines(case: Case, than: Case) -> bool:
    return than.places <= case.places


def _has_min_ranks(case: Case, other_cases: list[Case]) -> bool:
    """Whether so many are heard that one alone is odd."""
    ranks = set(case.ranks)
    for other_case in other_cases:
        ranks |= other_case.ranks
        if len(ranks) >= MIN_RANKS:
            return True
    return False


# A mode says with `follows` what it may be a consequence of: a mode, a whole class, or `*` for whatever is
# known better
# than by a general text (a launcher that reports the end of a process, a library that raises an exception
# again).


ANY = "*"
LATE_S = 600  # what comes so long after is no cause of what was there before


def followed(cases: Sequence[Case]) -> list[Case]:
    """All cases; a root that follows from another one that is there is a cascade."""
    roots = [case for case in cases if case.role == "root" and not case.doubted]
    return [replace(case, role="cascade") if _follows(case, roots) else case for case in cases]


def _follows(case: Case, roots: Sequence[Case]) -> bool:
    if case.role != "root" or not case.mode.follows:
        return False
    return any(_may_cause(root, case) for root in roots if root.mode.id != case.mode.id)


def _may_cause(cause: Case, effect: Case) -> bool:
    """Whether one may have brought about the other, by what is known of both, their times and their hosts."""
    named = effect.mode.follows
    if cause.mode.id in named:
        return not _too_late(cause, effect) and not _elsewhere(cause, effect)
    if cause.mode.certain <= GENERAL or cause.places <= effect.places:
        return False  # too little is known of it, or it is another reading of the very lines
    if cause.mode.kind in named and not _named_by(cause, effect):
        return not _too_late(cause, effect) and not _elsewhere(cause, effect)
    return (
        ANY in named
        and ANY not in cause.mode.follows
        and is_before(effect.first_sighting, cause.first_sighting) is not True
    )


def _named_by(cause: Case, effect: Case) -> bool:
    """Whether it is the other way round: of two of one class that name each other's, neither follows."""
    return effect.mode.id in cause.mode.follows or effect.mode.kind in cause.mode.follows


def _too_late(cause: Case, effect: Case) -> bool:
    cause_sighting, effect_sighting = cause.first_sighting, effect.first_sighting
    if (
        cause_sighting.seconds is None
        or effect_sighting.seconds is None
        or cause_sighting.clock != effect_sighting.clock
    ):
        return False
    return cause_sighting.seconds - effect_sighting.seconds > LATE_S


def _elsewhere(cause: Case, effect: Case) -> bool:
    """Whether a failure of a host is told of hosts that the cause is not told of."""
    if effect.mode.exclude != "host":
        return False
    hosts, effect_hosts = _hosts(cause), _hosts(effect)
    return bool(hosts and effect_hosts) and not hosts & effect_hosts


def _hosts(case: Case) -> set[str]:
    return {
        name
        for sighting in case.sightings
        for name in (sighting.host, sighting.names.get("host", ""))
        if name
    }
