"""Explain that nodes which the job needs are reserved, out of service, or powering up."""

from __future__ import annotations

from clusterwright.config.names import fold
from clusterwright.diagnose.pending.changes import admin, starts, update
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.reasons.out_of_service import out
from clusterwright.diagnose.pending.reasons.resources import all_allocated, unsatisfiable
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import Waiting
from clusterwright.i18n import _
from clusterwright.slurm.records import Record, clock, length, seconds, stamp
from clusterwright.slurm.states import parse_node_state

_LEAST_S = 60  # a shorter time limit is not offered


@reason("ReqNodeNotAvail|NodeDown|Nodes_required_for_job|NodeNotAvail")
def not_available(facts: Facts) -> Waiting:
    """Explain a reservation ahead or nodes out of service; else requests that no node satisfies, or allocated nodes."""
    return ahead(facts) or out(facts) or unsatisfiable(facts) or all_allocated(facts)


def ahead(facts: Facts) -> Waiting | None:
    """Explain that a reservation of nodes which the job needs begins within the job's time limit; None if none does."""
    limit, now = seconds(facts.job["TimeLimit"]), stamp(facts.now)
    for name, reservation in sorted(facts.reservations.items(), key=lambda pair: pair[1]["StartTime"]):
        begin, end = stamp(reservation["StartTime"]), stamp(reservation["EndTime"])
        if (
            name == facts.job["Reservation"]
            or begin is None
            or now is None
            or (end is not None and end < now)
        ):
            continue
        if limit is None or now + limit > begin:
            return _reserved(facts, name, reservation, begin - now)
    return None


def _reserved(facts: Facts, name: str, reservation: Record, left_s: int) -> Waiting:
    kind = "maintenance" if "MAINT" in reservation["Flags"] else "reservation"
    begin, end = clock(reservation["StartTime"]), clock(reservation["EndTime"])
    limit_s = (left_s - _LEAST_S) // 60 * 60
    change = (
        update(facts, f"TimeLimit={length(limit_s)}", _("end before the reservation begins"))
        if limit_s >= _LEAST_S
        else admin(f"scontrol delete reservation={name}", _("delete the reservation"))
    )
    columns = ("ReservationName", "StartTime", "EndTime", "Nodes", "Flags")
    return Waiting(
        f"before-{kind}" if left_s > 0 else f"in-{kind}",
        _(
            "Reservation {reservation} has {hosts} from {begin} to {end}, and the job's time limit of {limit} would "
            "end after its begin.",
            reservation=name,
            hosts=reservation["Nodes"],
            begin=begin,
            end=end,
            limit=facts.job["TimeLimit"],
        ),
        starts(facts, _("after {time}", time=end)),
        change,
        (_("reservation {reservation} from {begin} until {end}", reservation=name, begin=begin, end=end),),
        (("scontrol show reservation", reservation.quoted(*columns)),),
    )


@reason("Resources$|Priority$|BeginTime")
def waking(facts: Facts) -> Waiting | None:
    """Explain that the job's nodes are powering up; None if none of them is, or the job is not CONFIGURING."""
    powered_down = [
        name for name, node in facts.nodes.items() if parse_node_state(node["State"]).is_power_saving
    ]
    if not powered_down or "CONFIGURING" not in facts.job["JobState"]:
        return None
    cause = _("Slurm is powering up {hosts} for the job.", hosts=fold(powered_down))
    return Waiting("waking", cause, _("when these nodes have booted"), held_by=tuple(powered_down))
