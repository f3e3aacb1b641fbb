"""Rules about reservations: hosts, teams, users, times."""

from __future__ import annotations

from calendar import monthrange, timegm
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations, islice

from clusterwright.config.clash import Clash, members, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import expand, fold
from clusterwright.config.slurm import Reservation
from clusterwright.i18n import _
from clusterwright.units import DAY_S, WEEK_S, format_duration

_MOST_OVERLAPS = 20  # reported; a file with a thousand reservations of the same hosts has half a million
_folded = lru_cache(maxsize=1)(fold)  # of all compute hosts, for each reservation
_EVERY = {"daily": DAY_S, "weekdays": DAY_S, "weekly": WEEK_S}


def reservations(cluster: Cluster) -> Iterator[Clash]:
    """Check that hosts, teams and users exist, and the start is a valid time."""
    compute = dict(sorted(members(cluster, "compute").items()))
    for name, reservation in cluster.reservations.items():
        yield from _hosts(compute, name, reservation)
        yield from _check_members(cluster, name, reservation)
        yield from _when(name, reservation)


def _hosts(compute: Mapping[str, str], name: str, reservation: Reservation) -> Iterator[Clash]:
    odd = [host for host in expand(reservation.hosts) if host not in compute]
    if odd:
        values = {"reservation": name, "hosts": fold(odd)}
        message = _("reservation `{reservation}` has {hosts}, no compute hosts of this file", **values)
        if compute:
            fix = _("use hosts of {hosts}", hosts=_folded(tuple(compute)))
        else:
            fix = _("add a node group with `role: compute`")
        yield Clash("not-compute", message, fix, (("reservations", name, "hosts"), ("nodes",)))


def _check_members(cluster: Cluster, name: str, reservation: Reservation) -> Iterator[Clash]:
    subject = _("reservation `{name}`", name=name)
    for index, team in enumerate(reservation.teams):
        if team not in cluster.teams:
            locs = (("reservations", name, "teams", index), ("teams",))
            yield unknown(subject, _("team"), team, cluster.teams, locs)
    for index, user in enumerate(reservation.users):
        if user not in cluster.users:
            locs = (("reservations", name, "users", index), ("users",))
            yield unknown(subject, _("user"), user, cluster.users, locs)
    if not (reservation.teams or reservation.users or reservation.maintenance):
        yield Clash(
            "reservation-for-nobody",
            _(
                "reservation `{reservation}` has no teams or users, so no job can use its hosts",
                reservation=name,
            ),
            _("add `teams` or `users`, or `maintenance: true` for work on the hosts"),
            (("reservations", name),),
        )


def _when(name: str, reservation: Reservation) -> Iterator[Clash]:
    if _seconds(reservation.start) is None:
        values = {"reservation": name, "start": reservation.start}
        message = _(
            "reservation `{reservation}` starts at {start}, which is not a valid date and time", **values
        )
        fix = _('write the start time as "2027-01-15T08:00"')
        yield Clash("reservation-start", message, fix, (("reservations", name, "start"),))
    every = _EVERY.get(reservation.repeat)
    if every is not None and reservation.duration > every:
        values = {"reservation": name, "duration": format_duration(reservation.duration)}
        message = _("reservation `{reservation}` lasts {duration} and starts again before its end", **values)
        fix = _("set duration to {duration} or less, or change repeat", duration=format_duration(every))
        locs = (("reservations", name, "duration"), ("reservations", name, "repeat"))
        yield Clash("reservation-too-long", message, fix, locs)


def _seconds(start: str) -> int | None:
    """Return seconds since 1970 of a start time taken as UTC; None for an invalid date or time."""
    date, _, clock = start.partition("T")
    year, month, day = (int(part) for part in date.split("-"))
    hour, minute, second = (int(part) for part in (*clock.split(":"), "0")[:3])
    if not 1 <= month <= 12 or not 1 <= day <= monthrange(year, month)[1]:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    return timegm((year, month, day, hour, minute, second))


def reservation_overlaps(cluster: Cluster) -> Iterator[Clash]:
    """Check that no two reservations overlap in hosts and time; those that recur or are for maintenance may.

    At most _MOST_OVERLAPS clashes; a site's own reservations are not checked.
    """
    if cluster.slurm.is_of_site:  # its reservations exist already
        return
    nonrecurring = {
        name: reservation
        for name, reservation in cluster.reservations.items()
        if reservation.repeat == "once"
    }
    hosts = {name: frozenset(expand(reservation.hosts)) for name, reservation in nonrecurring.items()}
    spans = {name: _span(reservation) for name, reservation in nonrecurring.items()}
    of_jobs = [name for name, reservation in nonrecurring.items() if not reservation.maintenance]
    overlaps = (
        (first, second)
        for first, second in combinations(of_jobs, 2)
        if _share_time(spans[first], spans[second]) and not hosts[first].isdisjoint(hosts[second])
    )
    for first, second in islice(overlaps, _MOST_OVERLAPS):
        values = {"first": first, "second": second, "hosts": fold(sorted(hosts[first] & hosts[second]))}
        message = _("reservations `{first}` and `{second}` overlap on {hosts}", **values)
        fix = _("change the time of one of them, or remove hosts from it")
        locs = (("reservations", first, "start"), ("reservations", second, "start"))
        yield Clash("reservation-overlap", message, fix, locs)


def _share_time(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return True if two spans, each from start to end, overlap."""
    return one[0] < other[1] and other[0] < one[1]


def _span(reservation: Reservation) -> tuple[int, int]:
    start = _seconds(reservation.start)
    return (0, 0) if start is None else (start, start + reservation.duration)
