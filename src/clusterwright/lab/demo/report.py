"""The report: every figure of the demo, worked out from what was told and from events. Pure."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from clusterwright.check.verdict import Status, Verdict
from clusterwright.lab.demo import lanes, reckon
from clusterwright.lab.demo.events import Event
from clusterwright.lab.demo.lanes import Fault, Lane, Mark

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
    """A network as the drawing shows it."""

    name: str
    subnet: str
    rate: str
    kind: str


@dataclass(frozen=True, slots=True)
class DrawnHost:
    """A host as the drawing shows it."""

    name: str
    role: str
    networks: tuple[str, ...]
    address: str
    gpus: int
    gpu_model: str
    switch: str | None


@dataclass(frozen=True, slots=True)
class DrawnCluster:
    """The cluster file, as far as the drawing needs it."""

    name: str
    os: str
    networks: tuple[DrawnNetwork, ...]
    hosts: tuple[DrawnHost, ...]


@dataclass(slots=True)
class Told:
    """What the steps of the demo saw, filled in as they go; what stays None did not happen."""

    mode: Literal["lab", "local"]
    made_at: str
    places: tuple[str, ...] = ()
    cluster: DrawnCluster | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    second_apply_changes: int | None = None
    verdicts: tuple[Verdict, ...] | None = None
    fault: Fault | None = None
    faulted: tuple[Event, ...] = ()
    uninterrupted: tuple[Event, ...] = ()
    checkpoint_every: int | None = None
    left_behind: tuple[str, ...] | None = None
    broke: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    software: dict[str, str] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What report.json holds; the page is drawn from it alone."""

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
    recovery: reckon.Recovery | None
    left_behind: tuple[str, ...] | None
    not_applicable: dict[str, str]
    software: dict[str, str]
    machine: dict[str, str]
    cluster: DrawnCluster | None
    lanes: tuple[Lane, ...]
    marks: tuple[Mark, ...]
    done: tuple[tuple[int, float], ...]
    losses: dict[str, tuple[float | None, ...]]
    losses_hex: dict[str, tuple[str, ...]]

    def document(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return dataclasses.asdict(self)


def report(told: Told) -> Report:
    """Everything worked out, with the list of claims that do not hold."""
    one, other = reckon.steps_done(told.faulted), reckon.steps_done(told.uninterrupted)
    ended, ended_other = reckon.finished(told.faulted), reckon.finished(told.uninterrupted)
    both = ended is not None and ended_other is not None
    recovered = reckon.recovery(told.faulted, told.fault.time) if told.fault else None
    seconds = dict(told.seconds) | ({"recovery": recovered.seconds} if recovered else {})
    made = Report(
        schema=SCHEMA,
        mode=told.mode,
        ok=False,
        problems=(),
        made_at=told.made_at,
        hosts=tuple(host.name for host in told.cluster.hosts) if told.cluster else told.places,
        seconds={name: _rounded(seconds.get(name)) for name in TIMES},
        second_apply_changes=told.second_apply_changes,
        checks=_counts(told.verdicts),
        checks_not_ok=tuple(v for v in told.verdicts or () if v.status not in {Status.OK, Status.SKIPPED}),
        fault=_fault(told, one),
        steps_total=max(one, default=0),
        steps_repeated=reckon.repeated(told.faulted),
        checkpoint_every=told.checkpoint_every,
        loss_final=_final(ended),
        loss_final_uninterrupted=_final(ended_other),
        losses_equal_bitwise=reckon.equal_bitwise(one, other) if both else None,
        steps_differing=reckon.differing(one, other) if both else (),
        repeated_steps_equal_bitwise=not reckon.repeats_differ(told.faulted),
        world_sizes=reckon.world_sizes(told.faulted),
        ranks=reckon.ranks_on(told.faulted),
        recovery=recovered,
        left_behind=told.left_behind,
        not_applicable=dict(told.reasons),
        software=dict(told.software),
        machine=dict(told.machine),
        cluster=told.cluster,
        lanes=lanes.lanes(told.faulted, told.places, told.fault),
        marks=lanes.marks(told.faulted, told.fault),
        done=_progress(told.faulted),
        losses={"with_fault": _losses(one), "uninterrupted": _losses(other)},
        losses_hex={"with_fault": _bits(one), "uninterrupted": _bits(other)},
    )
    problems = _what_broke(told) or problems_of(made)
    return dataclasses.replace(made, problems=problems, ok=not problems)


def problems_of(made: Report) -> tuple[str, ...]:
    """Every claim of the demo that does not hold; empty when all of it happened."""
    lab = made.mode == "lab"
    claims = (
        (made.loss_final is not None, "the training with the fault did not finish"),
        (len(made.losses["with_fault"]) == made.steps_total, "some steps are missing from the events"),
        (made.fault is not None, "no fault was made"),
        (made.recovery is not None, "no step was done after the fault"),
        (made.loss_final_uninterrupted is not None, "the training without the fault did not finish"),
        (
            made.losses_equal_bitwise is True,
            f"losses are not equal bit for bit: {_which(made.steps_differing)}",
        ),
        (made.repeated_steps_equal_bitwise, "a repeated step gave another loss than the first time"),
        (len(set(made.world_sizes)) <= 1, f"the number of ranks changed: {made.world_sizes}"),
        (_repeats_bounded(made), f"{made.steps_repeated} steps repeated, more than a checkpoint interval"),
        (
            not lab or made.second_apply_changes == 0,
            f"the second apply changed {made.second_apply_changes} things",
        ),
        (not lab or (made.checks or {}).get("fail") == 0, f"checks failed: {made.checks}"),
        (not lab or (made.checks or {}).get("ok", 0) > 0, "no check was ok"),
        (
            not lab or (made.fault or {}).get("joined_again_s") is not None,
            "the killed host did not join Slurm again",
        ),
        (made.left_behind == (), f"left behind: {made.left_behind or 'unknown'}"),
    )
    return tuple(wrong for holds, wrong in claims if not holds)


def _what_broke(told: Told) -> tuple[str, ...]:
    """What cut the demo short, and what it left; claims that were not reached say nothing more then."""
    left = [f"left behind: {', '.join(told.left_behind)}"] if told.left_behind else []
    return tuple(told.broke + left) if told.broke else ()


def _final(ended: Event | None) -> float | None:
    return float.fromhex(str(ended.more["loss_hex"])) if ended else None


def _repeats_bounded(made: Report) -> bool:
    return made.checkpoint_every is None or made.steps_repeated <= made.checkpoint_every


def _which(steps: Sequence[int]) -> str:
    return f"{len(steps)} steps, the first is {steps[0]}" if steps else "there is nothing to compare"


def _fault(told: Told, done: Mapping[int, reckon.Step]) -> dict[str, Any] | None:
    fault = told.fault
    if fault is None:
        return None
    at_step = reckon.last_step_before(told.faulted, fault.time)
    epoch, part = reckon.place_in_epoch(done, at_step) or (None, None)
    joined = fault.joined_time - fault.undone_time if fault.joined_time and fault.undone_time else None
    return {
        "kind": fault.kind,
        "host": fault.host,
        "rank": fault.rank,
        "at_step": at_step,
        "at_s": _rounded(fault.time - lanes.origin(told.faulted)),
        "epoch": epoch,
        "epoch_part": _rounded(part),
        "joined_again_s": _rounded(joined),
    }


def _counts(verdicts: Sequence[Verdict] | None) -> dict[str, int] | None:
    if verdicts is None:
        return None
    counted = Counter(verdict.status for verdict in verdicts)
    return {status.value: counted[status] for status in Status}


def _progress(events: Sequence[Event]) -> tuple[tuple[int, float], ...]:
    """Every step as it was done, repeated ones too, with its time since the job's start."""
    zero = lanes.origin(events)
    return tuple((event.step, round(event.time - zero, 3)) for event in events if event.kind == "step")


def _losses(done: Mapping[int, reckon.Step]) -> tuple[float | None, ...]:
    """Losses by step; None for one that is no number, which JSON cannot hold."""
    losses = (done[number].loss for number in sorted(done))
    return tuple(loss if math.isfinite(loss) else None for loss in losses)


def _bits(done: Mapping[int, reckon.Step]) -> tuple[str, ...]:
    return tuple(done[number].loss_hex for number in sorted(done))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
