"""The reservation that it asks for."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import holders, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Message, Waiting
from clusterwright.slurm.records import Record, clock, stamp


@reason("Reservation")
def reservation(facts: Facts) -> Waiting:
    """It has not begun, is full, or is no longer there."""
    name = facts.job["Reservation"] or facts.job["ReservationName"]
    record = facts.reservations.get(name, Record({}))
    begin, now = stamp(record["StartTime"]), stamp(facts.now)
    change = update(facts, "ReservationName=", Message("do without the reservation", "不使用预留"))
    line = (
        (
            "scontrol show reservation",
            record.quoted("ReservationName", "StartTime", "EndTime", "Nodes", "State"),
        ),
    )
    if begin is None or now is None:
        cause = Message(f"Its reservation {name} is no longer there.", f"它要求的预留 {name} 已不存在。")
        return Waiting("reservation-gone", cause, NOT_BY_ITSELF, change)
    if begin > now:
        return Waiting(
            "reservation-not-begun",
            Message(
                f"Its reservation {name} begins {clock(record['StartTime'])}.",
                f"它要求的预留 {name} 从 {clock(record['StartTime'])} 开始。",
            ),
            Message(f"from {clock(record['StartTime'])}", f"{clock(record['StartTime'])} 起"),
            change,
            evidence=line,
        )
    return Waiting(
        "reservation-full",
        Message(f"The nodes of its reservation {name} are taken.", f"它要求的预留 {name} 中的节点已被占用。"),
        Message("when a job in it ends", "其中的作业结束时"),
        change,
        holders(facts.running),
        line,
    )
