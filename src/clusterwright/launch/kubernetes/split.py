"""How teams divide what there is: Slurm's shares as parts of the whole, and a whole number as parts of it."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.cluster import Cluster


def parts(cluster: Cluster, teams: tuple[str, ...]) -> dict[str, float]:
    """Each team's part; a team that others are a part of divides its own among them and keeps none."""
    if not cluster.teams:
        return dict.fromkeys(teams, 1.0 / len(teams))
    return {team: _part(cluster, team) for team in teams}


def _part(cluster: Cluster, team: str) -> float:
    if any(other.parent == team for other in cluster.teams.values()):
        return 0.0
    found, at = 1.0, team
    while True:
        own = cluster.teams[at]
        beside = sum(other.shares for other in cluster.teams.values() if other.parent == own.parent)
        found *= own.shares / beside if beside else 0.0
        if own.parent is None:
            return found
        at = own.parent


def split(whole: int, parts: Mapping[str, float], most: Mapping[str, int] | None = None) -> dict[str, int]:
    """By largest remainder; what is over somebody's most goes to the others, in proportion to their parts.

    The numbers add up to the whole, unless nobody has a part, or all have their most.
    """
    limits, full = most or {}, dict[str, int]()
    while True:
        rest = {name: part for name, part in parts.items() if name not in full}
        found = _rounded(whole - sum(full.values()), rest)
        over = {name: limits[name] for name, number in found.items() if number > limits.get(name, number)}
        full |= over
        if not over:
            return {name: full.get(name, found.get(name, 0)) for name in parts}


def _rounded(whole: int, parts: Mapping[str, float]) -> dict[str, int]:
    total = sum(parts.values())
    exact = {name: whole * part / total if total else 0.0 for name, part in parts.items()}
    # A part of a part is not exact in binary: 0.6 of 10 is 6, not 5.999.
    found = {name: int(number + 1e-9) for name, number in exact.items()}
    rest = whole - sum(found.values()) if total else 0
    for name in sorted(exact, key=lambda each: found[each] - exact[each])[:rest]:
        found[name] += 1
    return found
