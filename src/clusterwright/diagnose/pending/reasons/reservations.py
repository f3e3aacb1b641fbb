"""The reservation that it asks for."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import holders, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Waiting, Words
from clusterwright.slurm.records import Record, clock, stamp


@reason("Reservation")
def reservation(facts: Facts) -> Waiting:
    """It has not begun, is full, or is no longer there."""
    name = facts.job["Reservation"] or facts.job["ReservationName"]
    one = facts.reservations.get(name, Record({}))
    begin, now = stamp(one["StartTime"]), stamp(facts.now)
    out_of_it = update(facts, "ReservationName=", Words("do without the reservation", "不使用预留"))
    line = (
        (
            "scontrol show reservation",
            one.quoted("ReservationName", "StartTime", "EndTime", "Nodes", "State"),
        ),
    )
    if begin is None or now is None:
        gone = Words(f"Its reservation {name} is no longer there.", f"它要求的预留 {name} 已不存在。")
        return Waiting("reservation-gone", gone, NOT_BY_ITSELF, out_of_it)
    if begin > now:
        return Waiting(
            "reservation-not-begun",
            Words(
                f"Its reservation {name} begins {clock(one['StartTime'])}.",
                f"它要求的预留 {name} 从 {clock(one['StartTime'])} 开始。",
            ),
            Words(f"from {clock(one['StartTime'])}", f"{clock(one['StartTime'])} 起"),
            out_of_it,
            evidence=line,
        )
    return Waiting(
        "reservation-full",
        Words(f"The nodes of its reservation {name} are taken.", f"它要求的预留 {name} 中的节点已被占用。"),
        Words("when a job in it ends", "其中的作业结束时"),
        out_of_it,
        holders(facts.running),
        line,
    )
