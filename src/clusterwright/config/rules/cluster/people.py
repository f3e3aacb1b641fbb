"""Users and teams are told apart by their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.config.cluster import Cluster
from clusterwright.config.people import User
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._unknown import unknown


def people(cluster: Cluster) -> Iterator[Clash]:
    """Each user's teams exist, and no two users or teams share a number."""
    for name, user in cluster.users.items():
        if user.team not in cluster.teams:
            at = (("users", name, "team"), ("teams",))
            yield unknown(f"user `{name}`", "team", user.team, cluster.teams, at)
        yield from _also_in(cluster, name, user)
        yield from _named_as_a_team(cluster, name, user)
    yield from _shared("users", "uid", {name: user.uid for name, user in cluster.users.items()})
    yield from _shared("teams", "gid", {name: team.gid for name, team in cluster.teams.items()})


def _also_in(cluster: Cluster, name: str, user: User) -> Iterator[Clash]:
    for index, team in enumerate(user.also_in):
        at = ("users", name, "also_in", index)
        if team not in cluster.teams:
            yield unknown(f"user `{name}`", "team", team, cluster.teams, (at, ("teams",)))
        elif team == user.team:
            yield Clash(
                "repeated-item",
                f"user `{name}` is of team `{team}` and also in it",
                f"take `{team}` out of also_in",
                (at, ("users", name, "team")),
            )


def _named_as_a_team(cluster: Cluster, name: str, user: User) -> Iterator[Clash]:
    """Distributions give a user a group of the same name and number; ours would have another number."""
    team = cluster.teams.get(name)
    if team and team.gid != user.uid:
        yield Clash(
            "name-taken",
            f"`{name}` is a user with uid {user.uid} and a team with gid {team.gid}",
            "rename one of them, or give both the same number",
            (("users", name, "uid"), ("teams", name, "gid")),
        )


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
