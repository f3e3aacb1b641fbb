"""Nodes that it needs are reserved, out of service, or being switched on."""

from __future__ import annotations

from clusterwright.config.names import fold
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.reasons.out_of_service import out
from clusterwright.diagnose.pending.reasons.resources import all_allocated, unsatisfiable
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import admin, starts, update
from clusterwright.diagnose.pending.waiting import Message, Waiting
from clusterwright.slurm.records import Record, clock, length, seconds, stamp
from clusterwright.slurm.states import parse_node_state

_LEAST_S = 60  # a job of less is no use


@reason("ReqNodeNotAvail|NodeDown|Nodes_required_for_job|NodeNotAvail")
def not_available(facts: Facts) -> Waiting:
    """A reservation ahead, or nodes out of service; if neither is seen, jobs on them."""
    return ahead(facts) or out(facts) or unsatisfiable(facts) or all_allocated(facts)


def ahead(facts: Facts) -> Waiting | None:
    """A reservation of nodes that it needs begins before the job's time limit would end it."""
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
    reservation_kind = "maintenance" if "MAINT" in reservation["Flags"] else "reservation"
    limit_s = (left_s - _LEAST_S) // 60 * 60
    change = (
        update(facts, f"TimeLimit={length(limit_s)}", Message("be over before it begins", "在它开始之前结束"))
        if limit_s >= _LEAST_S
        else admin(f"scontrol delete reservation={name}", Message("give the nodes back", "取消该预留"))
    )
    after_end = Message(f"after {clock(reservation['EndTime'])}", f"{clock(reservation['EndTime'])} 之后")
    return Waiting(
        f"before-{reservation_kind}" if left_s > 0 else f"in-{reservation_kind}",
        Message(
            f"{reservation['Nodes']} is reserved ({name}, {reservation_kind}) from "
            f"{clock(reservation['StartTime'])} to {clock(reservation['EndTime'])}, "
            f"and the job may take {facts.job['TimeLimit']}: it could not end before that.",
            f"{reservation['Nodes']} 从 {clock(reservation['StartTime'])} "
            f"到 {clock(reservation['EndTime'])} 已被预留 ({name}), "
            f"而作业最长可运行 {facts.job['TimeLimit']}, 不能在此之前结束。",
        ),
        starts(facts, after_end),
        change,
        (f"reservation {name} from {clock(reservation['StartTime'])} until {clock(reservation['EndTime'])}",),
        (
            (
                "scontrol show reservation",
                reservation.quoted("ReservationName", "StartTime", "EndTime", "Nodes", "Flags"),
            ),
        ),
    )


@reason("Resources$|Priority$|BeginTime")
def waking(facts: Facts) -> Waiting | None:
    """The nodes are there, and switched off."""
    powered_down = [
        name for name, node in facts.nodes.items() if parse_node_state(node["State"]).is_power_saving
    ]
    if not powered_down or "CONFIGURING" not in facts.job["JobState"]:
        return None
    return Waiting(
        "waking",
        Message(
            f"{fold(powered_down)} are being switched on for it.", f"正在为它开启 {fold(powered_down)}。"
        ),
        Message("when they have booted", "这些节点启动之后"),
        held_by=tuple(powered_down),
    )
