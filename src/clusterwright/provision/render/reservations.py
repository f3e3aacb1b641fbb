"""Reservations of the cluster file as records of slurmctld."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.config.slurm import Reservation
from clusterwright.provision.render.accounts import Row
from clusterwright.units import MINUTE_S

_REPEAT = {"once": "", "daily": "DAILY", "weekly": "WEEKLY", "weekdays": "WEEKDAY"}


def reservation_rows(cluster: Cluster) -> tuple[Row, ...]:
    """Return each reservation in Slurm's fields; times are in the hosts' time zone."""
    return tuple(_row(cluster, name, reservation) for name, reservation in cluster.reservations.items())


def _row(cluster: Cluster, name: str, reservation: Reservation) -> Row:
    users, accounts = _access_lists(cluster, reservation)
    return {
        "kind": "reservation",
        "name": name,
        "Nodes": fold(expand(reservation.hosts)),
        "StartTime": reservation.start,
        "Duration": str(-(-reservation.duration // MINUTE_S)),
        "Users": ",".join(sorted(users)),
        "Accounts": ",".join(sorted(accounts)),
        "Flags": ",".join(
            flag for flag in ("MAINT" if reservation.maintenance else "", _REPEAT[reservation.repeat]) if flag
        ),
    }


def _access_lists(cluster: Cluster, reservation: Reservation) -> tuple[set[str], set[str]]:
    """Return the users and accounts of a reservation in slurmctld; root if the file has neither users nor teams.

    Slurm requires a job to match both lists, the cluster file either one. So if the file has both, the members of its
    teams are listed as users.
    """
    if reservation.users and reservation.teams:
        members = {
            name
            for name, user in cluster.users.items()
            if {user.team, *user.additional_teams} & set(reservation.teams)
        }
        return members | set(reservation.users), set()
    if not reservation.users and not reservation.teams:
        return {"root"}, set()
    return set(reservation.users), set(reservation.teams)
