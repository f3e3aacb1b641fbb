"""Compute the report's figures from events. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.i18n import N_
from clusterwright.lab.demo.events import DemoEvent

Events = Sequence[DemoEvent]


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One optimizer step; of a repeated step the last repetition."""

    step: int
    time: float
    loss: float
    loss_hex: str
    epoch: int


@dataclass(frozen=True, slots=True)
class RecoveryPart:
    """A part of the recovery, in seconds; `until` describes the event that ends it."""

    name: str
    until: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Recovery:
    """The time from the fault to the first new step; the parts add up to the whole."""

    seconds: float
    next_step_seconds: float
    at_step: int
    resumed_step: int
    parts: tuple[RecoveryPart, ...]


def completed_steps(events: Events) -> dict[int, TrainingStep]:
    """Return every completed step by its number, as it ran the last time."""
    return {step.step: step for step in _steps(events)}


def repeated(events: Events) -> int:
    """Return the number of different steps that ran more than once."""
    return sum(times > 1 for times in Counter(step.step for step in _steps(events)).values())


def repeats_differ(events: Events) -> tuple[int, ...]:
    """Return the numbers of steps that ran more than once with different losses, sorted."""
    losses_by_step: dict[int, set[str]] = {}
    for step in _steps(events):
        losses_by_step.setdefault(step.step, set()).add(step.loss_hex)
    return tuple(sorted(number for number, losses in losses_by_step.items() if len(losses) > 1))


def differing(
    first_run: Mapping[int, TrainingStep], second_run: Mapping[int, TrainingStep]
) -> tuple[int, ...]:
    """Return the numbers of steps whose losses differ in a bit between two runs, or that ran in one run only."""
    return tuple(
        number
        for number in sorted(first_run.keys() | second_run.keys())
        if number not in first_run
        or number not in second_run
        or first_run[number].loss_hex != second_run[number].loss_hex
    )


def equal_bitwise(first_run: Mapping[int, TrainingStep], second_run: Mapping[int, TrainingStep]) -> bool:
    """Return True if both ran the same steps, at least one, with bitwise equal losses."""
    return bool(first_run) and not differing(first_run, second_run)


def last_step_before(events: Events, moment: float) -> int:
    """Return the highest step that was complete at that time; 0 if none."""
    return max((step.step for step in _steps(events) if step.time <= moment), default=0)


def finished(events: Events) -> DemoEvent | None:
    """Return the last event of the training's completion; None without one."""
    return next((event for event in reversed(events) if event.kind == "finished"), None)


def world_sizes(events: Events) -> tuple[int, ...]:
    """Return the number of ranks of each process group that formed, in order."""
    return tuple(len(group) for group in _groups(events))


def ranks_on(events: Events) -> dict[str, int]:
    """Return the highest number of simultaneous ranks on each host."""
    most: Counter[str] = Counter()
    for group in _groups(events):
        most |= Counter(group.values())
    return dict(sorted(most.items()))


def place_in_epoch(steps: Mapping[int, TrainingStep], step: int) -> tuple[int, float] | None:
    """Return the epoch of the step, and the step's position in it, up to 1.

    None for a step without a record, and until a second epoch has begun, as the length of one is unknown before.
    """
    if step not in steps:
        return None
    sizes = Counter(entry.epoch for entry in steps.values())
    if len(sizes) == 1:  # no epoch has ended, so its length is unknown
        return None
    epoch = steps[step].epoch
    first_step = min(number for number, entry in steps.items() if entry.epoch == epoch)
    return epoch, (step - first_step + 1) / max(sizes.values())


def checkpoints(events: Events) -> tuple[DemoEvent, ...]:
    """Return one event for each saved checkpoint, that of the last rank that wrote it, in order of time."""
    last: dict[tuple[int, int], DemoEvent] = {}
    for event in events:
        if event.kind == "checkpoint":
            last[event.generation, event.step] = event
    return tuple(sorted(last.values(), key=lambda event: event.time))


def recovery(events: Events, fault_time: float) -> Recovery | None:
    """Return the time between the fault and new progress, in parts; None if no new step ran.

    A step under way at the fault may still complete; new progress is a step beyond that one too.
    """
    ready_times = [event.time for event in events if event.kind == "group_ready" and event.time > fault_time]
    steps = list(_steps(events))
    highest = max((step.step for step in steps if not ready_times or step.time < ready_times[0]), default=0)
    later_steps = [step for step in steps if ready_times and step.time >= ready_times[0]]
    beyond = next((step for step in later_steps if step.step > highest), None)
    if beyond is None:
        return None
    window = [event for event in events if fault_time < event.time <= later_steps[0].time]
    moments = (*_moments(window), ("first step", later_steps[0].time), ("catching up", beyond.time))
    return Recovery(
        seconds=beyond.time - fault_time,
        next_step_seconds=later_steps[0].time - fault_time,
        at_step=last_step_before(events, fault_time),
        resumed_step=max((event.step for event in window if event.kind == "resumed"), default=0),
        parts=tuple(_parts(fault_time, moments)),
    )


_END_EVENTS = {
    "detection": N_("the supervisor marks the host as lost"),
    "new generation": N_("the remaining ranks have ended and the next generation starts"),
    "launch": N_("every rank has a process"),
    "import": N_("every rank has imported torch"),
    "rendezvous": N_("all ranks have joined the process group"),
    "load checkpoint": N_("every rank has loaded the checkpoint"),
    "first step": N_("the first step after the fault is complete"),
    "catching up": N_("the first step beyond the last one before the fault is complete"),
}


def _moments(window: Events) -> Iterator[tuple[str, float | None]]:
    """Yield each part between the fault and the first step after it with the time of its end; None without an event.

    The last event of each rank and kind counts: a failed start belongs to the part before.
    """
    yield "detection", next((event.time for event in window if event.kind == "host_lost"), None)
    yield "new generation", _latest(event.time for event in window if event.kind == "generation_start")
    started = _last_per_rank(window, "process_start")
    yield "launch", _latest(float(event.more.get("started", event.time)) for event in started)
    for name, kind in (
        ("import", "process_start"),
        ("rendezvous", "group_ready"),
        ("load checkpoint", "resumed"),
    ):
        yield name, _latest(event.time for event in _last_per_rank(window, kind))


def _parts(start: float, moments: Sequence[tuple[str, float | None]]) -> Iterator[RecoveryPart]:
    for name, moment in moments:
        if moment is not None:
            end = max(start, moment)
            yield RecoveryPart(name, _END_EVENTS[name], end - start)
            start = end


def _last_per_rank(events: Events, kind: str) -> Sequence[DemoEvent]:
    return list({event.rank: event for event in events if event.kind == kind}.values())


def _latest(times: Iterable[float]) -> float | None:
    return max(times, default=None)


def _steps(events: Events) -> Iterator[TrainingStep]:
    """Yield the completed steps in order of events, with repetitions.

    A loss that JSON cannot hold (nan, inf) is read from its bits.
    """
    for event in events:
        if event.kind == "step":
            bits = str(event.more["loss_hex"])
            yield TrainingStep(
                event.step, event.time, float.fromhex(bits), bits, int(event.more.get("epoch") or 0)
            )


def _groups(events: Events) -> Iterator[dict[int, str]]:
    """Yield the ranks of each process group that formed, with their hosts.

    A rank's second event starts the next group.
    """
    group: dict[int, str] = {}
    for event in events:
        if event.kind == "group_ready" and event.rank is not None:
            if event.rank in group:
                yield group
                group = {}
            group[event.rank] = event.host
    if group:
        yield group
