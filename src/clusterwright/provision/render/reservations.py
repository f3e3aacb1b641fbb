"""The file's reservations as rows of slurmctld's."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.config.slurm import Reservation
from clusterwright.provision.render.accounts import Row
from clusterwright.units import MINUTE_S

_REPEAT = {"once": "", "daily": "DAILY", "weekly": "WEEKLY", "weekdays": "WEEKDAY"}


def reservation_rows(cluster: Cluster) -> tuple[Row, ...]:
    """One for each, in Slurm's words; times are the hosts' own."""
    return tuple(_row(cluster, name, one) for name, one in cluster.reservations.items())


def _row(cluster: Cluster, name: str, one: Reservation) -> Row:
    users, accounts = _who(cluster, one)
    return {
        "kind": "reservation",
        "name": name,
        "Nodes": fold(expand(one.hosts)),
        "StartTime": one.start,
        "Duration": str(-(-one.duration // MINUTE_S)),
        "Users": ",".join(sorted(users)),
        "Accounts": ",".join(sorted(accounts)),
        "Flags": ",".join(flag for flag in ("MAINT" if one.maintenance else "", _REPEAT[one.repeat]) if flag),
    }


def _who(cluster: Cluster, one: Reservation) -> tuple[set[str], set[str]]:
    """Slurm lets in who is of both lists; ours of either: so teams beside users are told as their members."""
    if one.users and one.teams:
        members = {
            name for name, user in cluster.users.items() if {user.team, *user.also_in} & set(one.teams)
        }
        return members | set(one.users), set()
    if not one.users and not one.teams:
        return {"root"}, set()
    return set(one.users), set(one.teams)
