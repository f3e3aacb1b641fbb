"""Nodes that it needs are reserved, out of service, or being switched on."""

from __future__ import annotations

from clusterwright.config.names import fold
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.reasons.out_of_service import out
from clusterwright.diagnose.pending.reasons.resources import never, taken
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import admin, starts, update
from clusterwright.diagnose.pending.waiting import Waiting, Words
from clusterwright.slurm.records import Record, clock, length, seconds, stamp
from clusterwright.slurm.states import parse_node_state

_LEAST_S = 60  # a job of less is no use


@reason("ReqNodeNotAvail|NodeDown|Nodes_required_for_job|NodeNotAvail")
def not_available(facts: Facts) -> Waiting:
    """A reservation ahead, or nodes out of service; if neither is seen, jobs on them."""
    return ahead(facts) or out(facts) or never(facts) or taken(facts)


def ahead(facts: Facts) -> Waiting | None:
    """A reservation of nodes that it needs begins before the job's time limit would end it."""
    limit, now = seconds(facts.job["TimeLimit"]), stamp(facts.now)
    for name, one in sorted(facts.reservations.items(), key=lambda pair: pair[1]["StartTime"]):
        begin, end = stamp(one["StartTime"]), stamp(one["EndTime"])
        if (
            name == facts.job["Reservation"]
            or begin is None
            or now is None
            or (end is not None and end < now)
        ):
            continue
        if limit is None or now + limit > begin:
            return _reserved(facts, name, one, begin - now)
    return None


def _reserved(facts: Facts, name: str, one: Record, left_s: int) -> Waiting:
    kept = "maintenance" if "MAINT" in one["Flags"] else "reservation"
    fits = (left_s - _LEAST_S) // 60 * 60
    change = (
        update(facts, f"TimeLimit={length(fits)}", Words("be over before it begins", "在它开始之前结束"))
        if fits >= _LEAST_S
        else admin(f"scontrol delete reservation={name}", Words("give the nodes back", "取消该预留"))
    )
    until = Words(f"after {clock(one['EndTime'])}", f"{clock(one['EndTime'])} 之后")
    return Waiting(
        f"before-{kept}" if left_s > 0 else f"in-{kept}",
        Words(
            f"{one['Nodes']} is reserved ({name}, {kept}) from {clock(one['StartTime'])} to {clock(one['EndTime'])}, "
            f"and the job may take {facts.job['TimeLimit']}: it could not end before that.",
            f"{one['Nodes']} 从 {clock(one['StartTime'])} 到 {clock(one['EndTime'])} 已被预留 ({name}), "
            f"而作业最长可运行 {facts.job['TimeLimit']}, 不能在此之前结束。",
        ),
        starts(facts, until),
        change,
        (f"reservation {name} from {clock(one['StartTime'])} until {clock(one['EndTime'])}",),
        (
            (
                "scontrol show reservation",
                one.quoted("ReservationName", "StartTime", "EndTime", "Nodes", "Flags"),
            ),
        ),
    )


@reason("Resources$|Priority$|BeginTime")
def waking(facts: Facts) -> Waiting | None:
    """The nodes are there, and switched off."""
    asleep = [name for name, node in facts.nodes.items() if parse_node_state(node["State"]).is_power_saving]
    if not asleep or "CONFIGURING" not in facts.job["JobState"]:
        return None
    return Waiting(
        "waking",
        Words(f"{fold(asleep)} are being switched on for it.", f"正在为它开启 {fold(asleep)}。"),
        Words("when they have booted", "这些节点启动之后"),
        held_by=tuple(asleep),
    )
