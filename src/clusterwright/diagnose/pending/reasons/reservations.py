"""Explain the state of the reservation that the job requests."""

from __future__ import annotations

from clusterwright.diagnose.pending.changes import holders, update
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Waiting
from clusterwright.i18n import _
from clusterwright.slurm.records import Record, clock, stamp


@reason("Reservation")
def reservation(facts: Facts) -> Waiting:
    """Explain that the job's reservation has not begun, has no free node, or no longer exists."""
    name = facts.job["Reservation"] or facts.job["ReservationName"]
    record = facts.reservations.get(name, Record({}))
    begin, now = stamp(record["StartTime"]), stamp(facts.now)
    change = update(facts, "ReservationName=", _("run outside the reservation"))
    columns = ("ReservationName", "StartTime", "EndTime", "Nodes", "State")
    line = (("scontrol show reservation", record.quoted(*columns)),)
    if begin is None or now is None:
        cause = _("The job's reservation {reservation} no longer exists.", reservation=name)
        return Waiting("reservation-gone", cause, _(NOT_BY_ITSELF), change)
    if begin > now:
        time = clock(record["StartTime"])
        cause = _("The job's reservation {reservation} begins at {time}.", reservation=name, time=time)
        return Waiting("reservation-not-begun", cause, _("from {time}", time=time), change, evidence=line)
    return Waiting(
        "reservation-full",
        _("All nodes of the job's reservation {reservation} are allocated.", reservation=name),
        _("when a job in the reservation ends"),
        change,
        holders(facts.running),
        line,
    )
