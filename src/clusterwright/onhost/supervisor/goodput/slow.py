"""Stragglers: the ranks that others waited for, and for how long. Pure, over the events of a run."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence

from clusterwright.onhost.supervisor.goodput.timeline import Event, format_seconds


class Straggler(NamedTuple):
    """A rank that was slow from one time to another."""

    rank: int
    host: str
    ratio: float
    begin: float
    end: Optional[float]  # None while it lasts
    step: int
    lost_s: float  # seconds per step that all others waited for it


def find_stragglers(events: Sequence[Event]) -> List[Straggler]:
    """Return the ranks that were slow, with start and end, in order of their events.

    The end of a generation ends all that last; `end` is None for one that still lasts.
    """
    stragglers: List[Straggler] = []
    lasting: Dict[int, List[int]] = {}  # indexes of those that have not ended, by rank
    for event in events:
        kind, rank = event["event"], event.get("rank")
        ended: List[int] = []
        if kind == "straggler" and isinstance(rank, int):
            ended = lasting.pop(rank, [])
        elif kind in ("generation_end", "generation_start", "job_end", "finished"):
            ended = [index for indexes in lasting.values() for index in indexes]
            lasting.clear()
        for index in ended:
            stragglers[index] = stragglers[index]._replace(end=float(event["time"]))
        if kind == "straggler" and not event.get("over"):
            straggler = _straggler(event)
            lasting.setdefault(straggler.rank, []).append(len(stragglers))
            stragglers.append(straggler)
    return stragglers


def now(events: Sequence[Event]) -> Optional[Straggler]:
    """Return the newest straggler that is still slow at the end of the events; None if there is none."""
    lasting = [straggler for straggler in find_stragglers(events) if straggler.end is None]
    return lasting[-1] if lasting else None


def lines(events: Sequence[Event]) -> List[str]:
    """Return one line of text per rank that was ever slow, the slowest first; empty if none was."""
    worst: Dict[int, Straggler] = {}
    for straggler in find_stragglers(events):
        if straggler.ratio >= worst.get(straggler.rank, straggler).ratio:
            worst[straggler.rank] = straggler
    ordered = sorted(worst.values(), key=lambda straggler: -straggler.ratio)
    return [
        f"slow: rank {straggler.rank} on {straggler.host} took {straggler.ratio:.2f} "
        f"times as long as the others from step {straggler.step}"
        f" on; they waited {format_seconds(straggler.lost_s)} per step for it"
        + (" and still do" if straggler.end is None else "")
        for straggler in ordered
    ]


def _straggler(event: Event) -> Straggler:
    rank_s, typical_s = float(event.get("own") or 0), float(event.get("typical") or 0)
    return Straggler(
        int(event.get("rank") or 0),
        str(event.get("host") or "?"),
        float(event.get("ratio") or 1),
        float(event["time"]),
        None,
        int(event.get("step") or 0),
        max(0.0, rank_s - typical_s),
    )
