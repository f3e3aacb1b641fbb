"""Score the outcome of injected faults; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from clusterwright.lab.chaos.kind import Planned

_ENDS = {
    "finishes": ("finished",),
    "fails": ("failed", "no-progress"),
}  # no-progress: the program fails at the same step repeatedly


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """The observed outcome of one fault. Seconds count from the injection; None: it did not happen.

    `causes` are diagnoses, likeliest first, `actions` what was done, `harmed` drained hosts without a
    fault, `lost_steps` repeated steps, `missing_steps` and `differing_steps` steps that never ran, or ran again
    with another result.
    """

    run: str
    host: str
    detected_s: float | None
    progress_s: float | None
    causes: tuple[str, ...]
    actions: tuple[str, ...]
    outcome: str
    lost_steps: int = 0
    missing_steps: int = 0
    differing_steps: int = 0
    harmed: tuple[str, ...] = ()
    back_s: float | None = None  # from the undo until the host is in service without help
    ideal_s: float = 0.0
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one fault by criterion; None where a criterion does not apply."""

    planned: Planned
    record: FaultRecord
    detected: bool | None
    cause: bool | None
    action: bool
    finished: bool
    exact: bool
    unharmed: bool

    @property
    def passed(self) -> bool:
        """Return True if no criterion of the score failed."""
        judged = (self.detected, self.cause, self.action, self.finished, self.exact, self.unharmed)
        return all(verdict is not False for verdict in judged)


def judge(planned: Planned, record: FaultRecord, every: int) -> Score:
    """Return the score of a fault: whether it was detected, its cause found, and the training finished exactly.

    `record` is what was observed; `every` is the number of steps between checkpoints: at most so many steps may be
    lost, twice that with a torn checkpoint.
    """
    kind = planned.kind
    expected = _ENDS[kind.job]
    actions = set(record.actions)
    return Score(
        planned,
        record,
        detected=None if kind.subject == "none" else record.detected_s is not None,
        cause=None if kind.subject == "none" else bool(record.causes) and record.causes[0] in kind.cause,
        action=actions <= kind.actions and (not kind.needs or bool(actions & set(kind.needs))),
        finished=record.outcome in expected,
        exact=not record.missing_steps
        and not record.differing_steps
        and record.lost_steps <= every * (1 + kind.tears),
        unharmed=not record.harmed,
    )


def summary(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the figures of a campaign: shares from 0 to 1, None for a share of nothing."""
    could = [score for score in scores if score.planned.kind.job == "finishes"]
    ideal, duration = (
        sum(getattr(score.record, name) for score in could) for name in ("ideal_s", "duration_s")
    )
    return {
        "faults": len(scores),
        "good": _share(score.passed for score in scores),
        "detected": _share(score.detected for score in scores),
        "causes_right": _share(score.cause for score in scores),
        "actions_right": _share(score.action for score in scores),
        "finished": _share(score.finished for score in could),
        "steps_exact": _share(score.exact for score in scores),
        "healthy_hosts_taken_out": sum(len(score.record.harmed) for score in scores),
        "goodput": ideal / duration if duration else None,
        "recovery_s": _by_kind(scores),
    }


def document(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Return the score of each fault as values for JSON."""
    rows = []
    for score in scores:
        judged = {name: getattr(score, name) for name in Score.__slots__ if name not in ("planned", "record")}
        planned = {"number": score.planned.number, "kind": score.planned.kind.name}
        rows.append(planned | judged | asdict(score.record))
    return rows


def _share(judged: Iterable[bool | None]) -> float | None:
    judgments = [judgment for judgment in judged if judgment is not None]
    return sum(judgments) / len(judgments) if judgments else None


def _by_kind(scores: Sequence[Score]) -> dict[str, float]:
    """Return the median seconds from fault to new progress, by kind of fault; kinds without any are left out."""
    times_by_kind: dict[str, list[float]] = {}
    for score in scores:
        if score.record.progress_s is not None:
            times_by_kind.setdefault(score.planned.kind.name, []).append(score.record.progress_s)
    return {name: median(times) for name, times in sorted(times_by_kind.items())}
