"""Compute the demo's report from the collected facts and events. Pure."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.lab.demo import event_metrics, lanes
from clusterwright.lab.demo.events import DemoEvent
from clusterwright.lab.demo.lanes import InjectedFault, Lane, Marker

SCHEMA = "clusterwright.lab.demo/1"
TIMES = (
    "image",
    "lab_up",
    "apply",
    "second_apply",
    "check",
    "train",
    "recovery",
    "train_uninterrupted",
    "lab_down",
    "total",
)


@dataclass(frozen=True, slots=True)
class DrawnNetwork:
    """A network in the drawing of the cluster."""

    name: str
    subnet: str
    rate: str
    kind: str


@dataclass(frozen=True, slots=True)
class DrawnHost:
    """A host in the drawing of the cluster."""

    name: str
    role: str
    networks: tuple[str, ...]
    address: str
    gpus: int
    gpu_model: str
    switch: str | None


@dataclass(frozen=True, slots=True)
class DrawnCluster:
    """The parts of the cluster file that the drawing needs."""

    name: str
    os: str
    networks: tuple[DrawnNetwork, ...]
    hosts: tuple[DrawnHost, ...]


@dataclass(slots=True)
class DemoFacts:
    """What the demo's steps observed, filled in as they run; what stays None did not happen."""

    mode: Literal["lab", "local"]
    created_at: str
    places: tuple[str, ...] = ()
    cluster: DrawnCluster | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    second_apply_changes: int | None = None
    verdicts: tuple[Verdict, ...] | None = None
    fault: InjectedFault | None = None
    faulted: tuple[DemoEvent, ...] = ()
    uninterrupted: tuple[DemoEvent, ...] = ()
    checkpoint_every: int | None = None
    leftovers: tuple[str, ...] | None = None
    broke: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    software: dict[str, str] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """The contents of report.json; the page is rendered from it alone."""

    schema: str
    mode: Literal["lab", "local"]
    ok: bool
    problems: tuple[str, ...]
    made_at: str
    hosts: tuple[str, ...]
    seconds: dict[str, float | None]
    second_apply_changes: int | None
    checks: dict[str, int] | None
    checks_not_ok: tuple[Verdict, ...]
    fault: dict[str, Any] | None
    steps_total: int
    steps_repeated: int
    checkpoint_every: int | None
    loss_final: float | None
    loss_final_uninterrupted: float | None
    losses_equal_bitwise: bool | None
    steps_differing: tuple[int, ...]
    repeated_steps_equal_bitwise: bool
    world_sizes: tuple[int, ...]
    ranks: dict[str, int]
    recovery: event_metrics.Recovery | None
    left_behind: tuple[str, ...] | None
    not_applicable: dict[str, str]
    software: dict[str, str]
    machine: dict[str, str]
    cluster: DrawnCluster | None
    lanes: tuple[Lane, ...]
    marks: tuple[Marker, ...]
    done: tuple[tuple[int, float], ...]
    losses: dict[str, tuple[float | None, ...]]
    losses_hex: dict[str, tuple[str, ...]]

    def document(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return dataclasses.asdict(self)


def report(facts: DemoFacts) -> DemoReport:
    """Return the demo's report from what was observed; its `problems` are the claims that do not hold."""
    with_fault, uninterrupted = (
        event_metrics.completed_steps(facts.faulted),
        event_metrics.completed_steps(facts.uninterrupted),
    )
    ended, ended_other = event_metrics.finished(facts.faulted), event_metrics.finished(facts.uninterrupted)
    both_finished = ended is not None and ended_other is not None
    recovered = event_metrics.recovery(facts.faulted, facts.fault.time) if facts.fault else None
    seconds = dict(facts.seconds) | ({"recovery": recovered.seconds} if recovered else {})
    draft = DemoReport(
        schema=SCHEMA,
        mode=facts.mode,
        ok=False,
        problems=(),
        made_at=facts.created_at,
        hosts=tuple(host.name for host in facts.cluster.hosts) if facts.cluster else facts.places,
        seconds={name: _rounded(seconds.get(name)) for name in TIMES},
        second_apply_changes=facts.second_apply_changes,
        checks=_counts(facts.verdicts),
        checks_not_ok=tuple(v for v in facts.verdicts or () if v.status not in {Status.OK, Status.SKIPPED}),
        fault=_fault(facts, with_fault),
        steps_total=max(with_fault, default=0),
        steps_repeated=event_metrics.repeated(facts.faulted),
        checkpoint_every=facts.checkpoint_every,
        loss_final=_final(ended),
        loss_final_uninterrupted=_final(ended_other),
        losses_equal_bitwise=event_metrics.equal_bitwise(with_fault, uninterrupted)
        if both_finished
        else None,
        steps_differing=event_metrics.differing(with_fault, uninterrupted) if both_finished else (),
        repeated_steps_equal_bitwise=not event_metrics.repeats_differ(facts.faulted),
        world_sizes=event_metrics.world_sizes(facts.faulted),
        ranks=event_metrics.ranks_on(facts.faulted),
        recovery=recovered,
        left_behind=facts.leftovers,
        not_applicable=dict(facts.reasons),
        software=dict(facts.software),
        machine=dict(facts.machine),
        cluster=facts.cluster,
        lanes=lanes.lanes(facts.faulted, facts.places, facts.fault),
        marks=lanes.markers(facts.faulted, facts.fault),
        done=_progress(facts.faulted),
        losses={"with_fault": _losses(with_fault), "uninterrupted": _losses(uninterrupted)},
        losses_hex={"with_fault": _bits(with_fault), "uninterrupted": _bits(uninterrupted)},
    )
    problems = _breakages(facts) or problems_of(draft)
    return dataclasses.replace(draft, problems=problems, ok=not problems)


def problems_of(draft: DemoReport) -> tuple[str, ...]:
    """Return a text for each claim of the demo that does not hold; empty if all do."""
    lab = draft.mode == "lab"
    claims = (
        (draft.loss_final is not None, _("the training with the fault did not finish")),
        (len(draft.losses["with_fault"]) == draft.steps_total, _("the events lack some steps")),
        (draft.fault is not None, _("no fault was injected")),
        (draft.recovery is not None, _("no step was completed after the fault")),
        (draft.loss_final_uninterrupted is not None, _("the training without the fault did not finish")),
        (
            draft.losses_equal_bitwise is True,
            _("losses differ in steps: {steps}", steps=_which(draft.steps_differing)),
        ),
        (draft.repeated_steps_equal_bitwise, _("a repeated step had a different loss than the first time")),
        (
            len(set(draft.world_sizes)) <= 1,
            _("the number of ranks changed: {world_sizes}", world_sizes=draft.world_sizes),
        ),
        (
            _repeats_bounded(draft),
            _(
                "{steps_repeated} steps repeated, more than a checkpoint interval",
                steps_repeated=draft.steps_repeated,
            ),
        ),
        (
            not lab or draft.second_apply_changes == 0,
            _(
                "the second apply made {count} changes",
                count=draft.second_apply_changes,
            ),
        ),
        (not lab or (draft.checks or {}).get("fail") == 0, _("checks failed: {checks}", checks=draft.checks)),
        (not lab or (draft.checks or {}).get("ok", 0) > 0, _("no check passed")),
        (
            not lab or (draft.fault or {}).get("joined_again_s") is not None,
            _("the killed host did not rejoin Slurm"),
        ),
        (
            draft.left_behind == (),
            _("left behind: {leftovers}", leftovers=draft.left_behind or "unknown"),
        ),
    )
    return tuple(wrong for is_true, wrong in claims if not is_true)


def _breakages(facts: DemoFacts) -> tuple[str, ...]:
    """Return the errors that ended the demo early, with leftovers; empty if it was not ended early.

    Claims that it did not reach are not listed.
    """
    leftovers = (
        [_("left behind: {leftovers}", leftovers=", ".join(facts.leftovers))] if facts.leftovers else []
    )
    return tuple(facts.broke + leftovers) if facts.broke else ()


def _final(ended: DemoEvent | None) -> float | None:
    return float.fromhex(str(ended.more["loss_hex"])) if ended else None


def _repeats_bounded(draft: DemoReport) -> bool:
    return draft.checkpoint_every is None or draft.steps_repeated <= draft.checkpoint_every


def _which(steps: Sequence[int]) -> str:
    return (
        _("{count} steps, the first is {step}", count=len(steps), step=steps[0])
        if steps
        else _("nothing to compare")
    )


def _fault(facts: DemoFacts, steps: Mapping[int, event_metrics.TrainingStep]) -> dict[str, Any] | None:
    fault = facts.fault
    if fault is None:
        return None
    at_step = event_metrics.last_step_before(facts.faulted, fault.time)
    epoch, part = event_metrics.place_in_epoch(steps, at_step) or (None, None)
    joined = fault.joined_time - fault.undone_time if fault.joined_time and fault.undone_time else None
    return {
        "kind": fault.kind,
        "host": fault.host,
        "rank": fault.rank,
        "at_step": at_step,
        "at_s": _rounded(fault.time - lanes.origin(facts.faulted)),
        "epoch": epoch,
        "epoch_part": _rounded(part),
        "joined_again_s": _rounded(joined),
    }


def _counts(verdicts: Sequence[Verdict] | None) -> dict[str, int] | None:
    if verdicts is None:
        return None
    counted = Counter(verdict.status for verdict in verdicts)
    return {status.value: counted[status] for status in Status}


def _progress(events: Sequence[DemoEvent]) -> tuple[tuple[int, float], ...]:
    """Return every step in order of events, repeated ones too, with its time since the job's start."""
    zero = lanes.origin(events)
    return tuple((event.step, round(event.time - zero, 3)) for event in events if event.kind == "step")


def _losses(steps: Mapping[int, event_metrics.TrainingStep]) -> tuple[float | None, ...]:
    """Return the losses in order of steps; None for nan and inf, which JSON cannot hold."""
    losses = (steps[number].loss for number in sorted(steps))
    return tuple(loss if math.isfinite(loss) else None for loss in losses)


def _bits(steps: Mapping[int, event_metrics.TrainingStep]) -> tuple[str, ...]:
    return tuple(steps[number].loss_hex for number in sorted(steps))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
