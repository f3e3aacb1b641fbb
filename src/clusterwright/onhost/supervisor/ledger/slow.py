"""Which ranks the others waited for, and for how long. Pure, over the events of a run."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence

from clusterwright.onhost.supervisor.ledger.timeline import Event


class Behind(NamedTuple):
    """A rank that was slow from one step to another."""

    rank: int
    host: str
    ratio: float
    begin: float
    end: Optional[float]  # None while it lasts
    step: int
    lost_s: float  # what all others waited for it in each step


def behind(events: Sequence[Event]) -> List[Behind]:
    """All of them, in their order; a generation's end ends what it found."""
    found: List[Behind] = []
    for event in events:
        kind = event["event"]
        own = [
            place for place, each in enumerate(found) if each.end is None and each.rank == event.get("rank")
        ]
        if kind == "straggler" and (event.get("over") or own):
            found = [_ended(each, event) if place in own else each for place, each in enumerate(found)]
        if kind == "straggler" and not event.get("over"):
            found.append(_one(event))
        elif kind in ("generation_end", "generation_start", "job_end", "finished"):
            found = [_ended(each, event) for each in found]
    return found


def now(events: Sequence[Event]) -> Optional[Behind]:
    """The one that is slow at the end of what was read."""
    lasting = [each for each in behind(events) if each.end is None]
    return lasting[-1] if lasting else None


def lines(events: Sequence[Event]) -> List[str]:
    """One line for each rank that was ever found slow, the slowest first."""
    worst: Dict[int, Behind] = {}
    for each in behind(events):
        if each.ratio >= worst.get(each.rank, each).ratio:
            worst[each.rank] = each
    ordered = sorted(worst.values(), key=lambda each: -each.ratio)
    return [
        f"slow: rank {each.rank} on {each.host} took {each.ratio:.2f} times as long as the others from step {each.step}"
        f" on; they waited {each.lost_s * 1000:.3g} ms a step for it"
        + (" and still do" if each.end is None else "")
        for each in ordered
    ]


def _one(event: Event) -> Behind:
    own_s, typical_s = float(event.get("own") or 0), float(event.get("typical") or 0)
    return Behind(
        int(event.get("rank") or 0),
        str(event.get("host") or "?"),
        float(event.get("ratio") or 1),
        float(event["time"]),
        None,
        int(event.get("step") or 0),
        max(0.0, own_s - typical_s),
    )


def _ended(each: Behind, event: Event) -> Behind:
    return each._replace(end=float(event["time"])) if each.end is None else each
