"""The weight of a case among all others, and the confidence that it gives, as measured by `bench/why.py fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from clusterwright.diagnose.judge.case import GENERAL, Case, is_before

# Factors by role of the lines. A cascade is evidence of a failure elsewhere, so it counts if no root is known.
ROLES = {"root": 1.0, "cascade": 0.4, "teardown": 0.25, "benign": 0.0}
LATER = 0.8  # factor for each class with a root that is clearly earlier
LATEST = 0.5  # minimum of the product of these factors
LESS_PARTICULAR = 0.5  # factor if a more specific mode matches the same lines
OUTDONE = 0.35  # factor of a catch-all mode if another mode matches
CONFIRMED = 0.5  # share of the remaining doubt that confirming lines remove
DOUBTED = 0.3  # factor of a mode that is ruled out
ODD = 1.1  # factor of a root that one rank alone logs while others log something else
MIN_RANKS = 3  # for ODD
OF_CASCADES = 0.4  # maximum confidence of a consequence of another failure

# Weight, and the share of first answers with about that weight whose class was right: `bench/why.py fit` on
# tests/diagnose/unseen, 2026-11-23, 164 failures. Tables of four fifths of them on the other fifth: Brier score 0.079.
CALIBRATION: tuple[tuple[float, float], ...] = (
    (0.0, 0.0), (0.6, 0.77), (0.77, 0.85), (0.82, 0.93), (0.86, 0.96), (0.92, 0.98), (1.0, 0.98),
)  # fmt: skip


def weigh(case: Case, other_cases: list[Case]) -> float:
    """Return the weight of a case, 0 to 1, by which cases are ranked; the highest is the likeliest root cause.

    Confirming lines and being the only rank with the failure raise it. Contradicting lines, a role other than root, an
    earlier case, and a more specific or less general case beside it lower it.
    """
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
    """Return whether the case is a root that is clearly earlier than the other."""
    return (
        case.role == "root"
        and not case.doubted
        and not (_general(case) and not _general(than))
        and is_before(case.first_sighting, than.first_sighting) is True
    )


def _is_more_specific(case: Case, than: Case) -> bool:
    """Return whether the case is more specific than the other, by more than 3, and matches all its lines.

    For a benign case any difference is enough; a doubted case that is not benign is never more specific.
    """
    if case.doubted or case.role == "benign" or case.particular <= than.particular + 3:
        return case.role == "benign" and _same_lines(case, than) and case.particular > than.particular
    return _same_lines(case, than)


def _same_lines(case: Case, than: Case) -> bool:
    return than.places <= case.places


def _has_min_ranks(case: Case, other_cases: list[Case]) -> bool:
    """Return whether at least MIN_RANKS ranks have logged any of the cases."""
    ranks = set(case.ranks)
    for other_case in other_cases:
        ranks |= other_case.ranks
        if len(ranks) >= MIN_RANKS:
            return True
    return False


# `follows` of a mode: a mode, a class, or `*` for any mode that is no catch-all (a launcher that reports the end of a
# process, a library that raises an exception again).

ANY = "*"
LATE_S = 600  # seconds; a cause is at most this much later than its effect


def followed(cases: Sequence[Case]) -> list[Case]:
    """Return the cases, with roots that follow from another root as cascades."""
    roots = [case for case in cases if case.role == "root" and not case.doubted]
    return [replace(case, role="cascade") if _follows(case, roots) else case for case in cases]


def _follows(case: Case, roots: Sequence[Case]) -> bool:
    if case.role != "root" or not case.mode.follows:
        return False
    return any(_may_cause(root, case) for root in roots if root.mode.id != case.mode.id)


def _may_cause(cause: Case, effect: Case) -> bool:
    """Return whether one case may have caused the other, by their modes, times and hosts."""
    named = effect.mode.follows
    if cause.mode.id in named:
        return not _too_late(cause, effect) and not _elsewhere(cause, effect)
    if cause.mode.certain <= GENERAL or cause.places <= effect.places:
        return False  # a catch-all, or another reading of the same lines
    if cause.mode.kind in named and not _named_by(cause, effect):
        return not _too_late(cause, effect) and not _elsewhere(cause, effect)
    return (
        ANY in named
        and ANY not in cause.mode.follows
        and is_before(effect.first_sighting, cause.first_sighting) is not True
    )


def _named_by(cause: Case, effect: Case) -> bool:
    """Return whether the cause may also follow from the effect: if each may follow from the other, neither does."""
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
    """Return whether the effect is a failure of hosts to which the cause does not belong.

    False if the mode of the effect excludes no host, or the hosts of one of them are not known.
    """
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


def confidence(weight: float, best: float, against: float, role: str) -> float:
    """Return the share, 0 to 1, of measured answers with about this weight that were right.

    `best` is the greatest weight, `against` the sum of those of other classes. At most OF_CASCADES if the role is not
    `root`.
    """
    sure = expected(raw(weight, best, against))
    return round(sure if role == "root" else min(sure, OF_CASCADES), 3)


def raw(weight: float, best: float, against: float) -> float:
    """Return a confidence from a case's weight: lower the larger `against`, the weights of other classes, is.

    A case whose weight is below `best` gets at most 0.6 of that.
    """
    share = weight / (weight + against) if weight else 0.0
    sure = weight * (0.6 + 0.4 * share)
    return sure if weight >= best else min(sure, best * 0.6)


def expected(sure: float) -> float:
    """Return the share in the calibration table for a weight, interpolated linearly."""
    for (low, share), (high, more) in pairwise(CALIBRATION):
        if sure <= high:
            return share + (more - share) * (sure - low) / (high - low)
    return CALIBRATION[-1][1]
