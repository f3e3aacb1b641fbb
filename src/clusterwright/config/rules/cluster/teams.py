"""Teams have members, a share, and a place in one tree."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._loops import loops
from clusterwright.config.rules._said import names
from clusterwright.config.rules._unknown import unknown


def teams(cluster: Cluster) -> Iterator[Clash]:
    """Somebody is in each team, parents exist and end, and the shares of teams side by side add to something."""
    parents = {name: team.parent for name, team in cluster.teams.items() if team.parent is not None}
    for name, parent in parents.items():
        if parent not in cluster.teams:
            at = (("teams", name, "parent"), ("teams",))
            yield unknown(f"team `{name}`", "team", parent, cluster.teams, at)
    yield from _loops({name: (parent,) for name, parent in parents.items()})
    yield from _empty(cluster, set(parents.values()))
    yield from _without_shares(cluster)


def _loops(parents: dict[str, tuple[str, ...]]) -> Iterator[Clash]:
    for loop in loops(parents):
        way = " of ".join(f"`{name}`" for name in (*loop, loop[0]))
        yield Clash(
            "team-loop",
            f"team {way}: none of them hangs on the root, where shares begin",
            f"take the `parent` out of one of {names(loop)}" if len(loop) > 1 else "take `parent` out",
            tuple(("teams", name, "parent") for name in loop),
        )


def _empty(cluster: Cluster, parents: set[str]) -> Iterator[Clash]:
    """A team that only holds other teams needs nobody of its own."""
    members = {team for user in cluster.users.values() for team in (user.team, *user.also_in)}
    for name in cluster.teams:
        if name not in members and name not in parents:
            yield Clash(
                "team-empty",
                f"nobody is in team `{name}`, so its share would be used by nobody",
                f"add a user with `team: {name}`, or `also_in: [{name}]` to one who is there, or take it out",
                (("teams", name), ("users",)),
            )


def _without_shares(cluster: Cluster) -> Iterator[Clash]:
    beside: dict[str | None, list[str]] = {}
    for name, team in cluster.teams.items():
        beside.setdefault(team.parent, []).append(name)
    for parent, siblings in beside.items():
        if all(cluster.teams[name].shares == 0 for name in siblings):
            under = f" under `{parent}`" if parent else ""
            yield Clash(
                "shares-nothing",
                f"the shares of {names(siblings)}{under} add to 0, so there is nothing to divide",
                "give one of them `shares` of 1 or more" if len(siblings) > 1 else "give it `shares: 1`",
                tuple(("teams", name, "shares") for name in siblings),
            )
