"""What happened, held against what was planted; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from clusterwright.lab.chaos.kind import Planned

_ENDS = {
    "finishes": ("finished",),
    "fails": ("failed", "no-progress"),
}  # the latter: at the same step again and again


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """What was seen of one fault. Seconds are from the planting; None is what did not happen.

    `causes` are answers in their order, `actions` what was done, `harmed` hosts that were taken out and had no
    fault, `lost` steps that had to be done again, `missing` and `twice` steps that were never done, or done again
    with another result.
    """

    run: str
    host: str
    detected_s: float | None
    progress_s: float | None
    causes: tuple[str, ...]
    actions: tuple[str, ...]
    outcome: str
    lost: int = 0
    missing: int = 0
    twice: int = 0
    harmed: tuple[str, ...] = ()
    back_s: float | None = None  # from the fix of the fault to the host in service, by itself
    ideal_s: float = 0.0
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Score:
    """The judgement of one fault; None where there was nothing to judge."""

    planned: Planned
    seen: FaultRecord
    detected: bool | None
    cause: bool | None
    action: bool
    finished: bool
    exact: bool
    unharmed: bool

    @property
    def passed(self) -> bool:
        """True when nothing is left to wish for."""
        judged = (self.detected, self.cause, self.action, self.finished, self.exact, self.unharmed)
        return all(verdict is not False for verdict in judged)


def judge(planned: Planned, record: FaultRecord, every: int) -> Score:
    """`every` is the steps between two checkpoints: more than these may not be lost, twice as many if one is torn."""
    kind = planned.kind
    expected = _ENDS[kind.job]
    actions = set(record.actions)
    return Score(
        planned,
        record,
        detected=None if kind.ask == "none" else record.detected_s is not None,
        cause=None if kind.ask == "none" else bool(record.causes) and record.causes[0] in kind.cause,
        action=actions <= kind.actions and (not kind.needs or bool(actions & set(kind.needs))),
        finished=record.outcome in expected,
        exact=not record.missing and not record.twice and record.lost <= every * (1 + kind.tears),
        unharmed=not record.harmed,
    )


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """The figures of a campaign: shares from 0 to 1, and None for a share of nothing."""
    could = [score for score in scores if score.planned.kind.job == "finishes"]
    ideal, duration = (sum(getattr(score.seen, name) for score in could) for name in ("ideal_s", "took_s"))
    return {
        "faults": len(scores),
        "good": _share(score.passed for score in scores),
        "detected": _share(score.detected for score in scores),
        "causes_right": _share(score.cause for score in scores),
        "actions_right": _share(score.action for score in scores),
        "finished": _share(score.finished for score in could),
        "steps_exact": _share(score.exact for score in scores),
        "healthy_hosts_taken_out": sum(len(score.seen.harmed) for score in scores),
        "goodput": ideal / duration if duration else None,
        "recovery_s": _by_kind(scores),
    }


def document(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Each fault as JSON carries it."""
    rows = []
    for score in scores:
        judged = {name: getattr(score, name) for name in Score.__slots__ if name not in ("planned", "seen")}
        planned = {"number": score.planned.number, "kind": score.planned.kind.name}
        rows.append(planned | judged | asdict(score.seen))
    return rows


def _share(judged: Iterable[bool | None]) -> float | None:
    judgments = [judgment for judgment in judged if judgment is not None]
    return sum(judgments) / len(judgments) if judgments else None


def _by_kind(scores: Sequence[Score]) -> dict[str, float]:
    """The median of seconds from the fault to new progress."""
    times_by_kind: dict[str, list[float]] = {}
    for score in scores:
        if score.seen.progress_s is not None:
            times_by_kind.setdefault(score.planned.kind.name, []).append(score.seen.progress_s)
    return {name: median(times) for name, times in sorted(times_by_kind.items())}
