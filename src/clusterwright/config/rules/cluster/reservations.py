"""Reservations keep hosts that are there, for somebody, at a time that exists."""

from __future__ import annotations

from calendar import monthrange, timegm
from collections.abc import Iterator
from itertools import combinations

from clusterwright.config.clash import Clash, members, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.config.slurm import Reservation
from clusterwright.i18n import _
from clusterwright.units import DAY_S, WEEK_S, format_duration

_EVERY = {"daily": DAY_S, "weekdays": DAY_S, "weekly": WEEK_S}


def reservations(cluster: Cluster) -> Iterator[Clash]:
    """Hosts, teams and users exist, the start is a date, and no two keep the same hosts at once."""
    for name, reservation in cluster.reservations.items():
        yield from _hosts(cluster, name, reservation)
        yield from _check_members(cluster, name, reservation)
        yield from _when(name, reservation)
    yield from _overlapping(cluster)


def _hosts(cluster: Cluster, name: str, reservation: Reservation) -> Iterator[Clash]:
    compute = members(cluster, "compute")
    odd = [host for host in expand(reservation.hosts) if host not in compute]
    if odd:
        yield Clash(
            "not-compute",
            _("reservation `{name}` keeps {fold}, no compute host of this file", name=name, fold=fold(odd)),
            _("name some of {fold}", fold=fold(sorted(compute)))
            if compute
            else _("add a node group with `role: compute`"),
            (("reservations", name, "hosts"), ("nodes",)),
        )


def _check_members(cluster: Cluster, name: str, reservation: Reservation) -> Iterator[Clash]:
    subject = f"reservation `{name}`"
    for index, team in enumerate(reservation.teams):
        if team not in cluster.teams:
            locs = (("reservations", name, "teams", index), ("teams",))
            yield unknown(subject, "team", team, cluster.teams, locs)
    for index, user in enumerate(reservation.users):
        if user not in cluster.users:
            locs = (("reservations", name, "users", index), ("users",))
            yield unknown(subject, "user", user, cluster.users, locs)
    if not (reservation.teams or reservation.users or reservation.maintenance):
        yield Clash(
            "reservation-for-nobody",
            _("{subject} keeps hosts from everybody, and is for nobody", subject=subject),
            _("add `teams` or `users` that it is for, or `maintenance: true` for work on the hosts"),
            (("reservations", name),),
        )


def _when(name: str, reservation: Reservation) -> Iterator[Clash]:
    if _seconds(reservation.start) is None:
        yield Clash(
            "reservation-start",
            _(
                "reservation `{name}` begins on {start}, which no calendar or clock has",
                name=name,
                start=reservation.start,
            ),
            _('write it as "2027-01-15T08:00"'),
            (("reservations", name, "start"),),
        )
    every = _EVERY.get(reservation.repeat)
    if every is not None and reservation.duration > every:
        yield Clash(
            "reservation-too-long",
            _(
                "reservation `{name}` lasts {duration} and begins again before it has ended",
                name=name,
                duration=format_duration(reservation.duration),
            ),
            _("set duration to {duration} or less, or another repeat", duration=format_duration(every)),
            (("reservations", name, "duration"), ("reservations", name, "repeat")),
        )


def _seconds(start: str) -> int | None:
    """Since 1970 as if the zone were UTC; None where there is no such date or time."""
    date, _, clock = start.partition("T")
    year, month, day = (int(part) for part in date.split("-"))
    hour, minute, second = (int(part) for part in (*clock.split(":"), "0")[:3])
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year, month)[1]:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    return timegm((year, month, day, hour, minute, second))


def _overlapping(cluster: Cluster) -> Iterator[Clash]:
    """Only of those that come once; Slurm refuses the second, unless it is for maintenance."""
    nonrecurring = {
        name: reservation
        for name, reservation in cluster.reservations.items()
        if reservation.repeat == "once"
    }
    for (first_name, reservation), (second, other_reservation) in combinations(nonrecurring.items(), 2):
        begins, ends = _span(reservation)
        starts, stops = _span(other_reservation)
        shared_hosts = sorted(set(expand(reservation.hosts)) & set(expand(other_reservation.hosts)))
        if (
            shared_hosts
            and begins < stops
            and starts < ends
            and not (reservation.maintenance or other_reservation.maintenance)
        ):
            yield Clash(
                "reservation-overlap",
                _(
                    "reservations `{first_name}` and `{second}` keep {fold} at the same time",
                    first_name=first_name,
                    second=second,
                    fold=fold(shared_hosts),
                ),
                _("move one of them, or take hosts out of it"),
                (("reservations", first_name, "start"), ("reservations", second, "start")),
            )


def _span(reservation: Reservation) -> tuple[int, int]:
    start = _seconds(reservation.start)
    return (0, 0) if start is None else (start, start + reservation.duration)
