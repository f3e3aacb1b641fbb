"""Users and teams are told apart by their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash
from clusterwright.spec.rules._unknown import unknown


def people(cluster: Cluster) -> Iterator[Clash]:
    """Each user's team exists, and no two users or teams share a number."""
    for name, user in cluster.users.items():
        if user.team not in cluster.teams:
            at = (("users", name, "team"), ("teams",))
            yield unknown(f"user `{name}`", "team", user.team, cluster.teams, at)
    yield from _shared("users", "uid", {name: user.uid for name, user in cluster.users.items()})
    yield from _shared("teams", "gid", {name: team.gid for name, team in cluster.teams.items()})


def _shared(section: str, field: str, numbers: Mapping[str, int]) -> Iterator[Clash]:
    first: dict[int, str] = {}
    for name, number in numbers.items():
        if number in first:
            yield Clash(
                "id-taken",
                f"{section} `{first[number]}` and `{name}` have the same {field} {number}",
                f"give `{name}` a {field} of its own, e.g. {_free(numbers, number)}",
                ((section, first[number], field), (section, name, field)),
            )
        first.setdefault(number, name)


def _free(numbers: Mapping[str, int], number: int) -> int:
    taken = set(numbers.values())
    return next(candidate for candidate in range(number, number + len(taken) + 1) if candidate not in taken)
