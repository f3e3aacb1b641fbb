"""Exposed communication: its share of a run's time in steps, and advice. Pure, over the run's events."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence

from clusterwright.onhost.supervisor.goodput.timeline import Event, format_seconds

# The values of runtime/exposed.py; BOUNDED: only rank 0's waiting time is known, which includes slower ranks.
EXACT, BOUNDED, SINGLE_RANK, SHARDED, STAGES, NOT_DDP = (
    "measured", "bounded", "alone", "sharded", "stages", "other",
)  # fmt: skip
WORTH_SAYING = 0.1  # share of the time in steps, as plan/cnn/step.py uses for a bottleneck
FEW = 10  # too few steps for a conclusion


class Talking(NamedTuple):
    """Exposed communication in the steps of a run: time in which GPUs wait for it."""

    share: float  # of the time in steps
    busy_s: float
    steps: int
    basis: str


def share(steps: Sequence[Event]) -> Optional[float]:
    """Return exposed communication as a share of the time in these steps of one generation; None if not measured.

    Steps before the first measurement do not count.
    """
    measurement = _measure(steps)
    return None if measurement is None else measurement.share


def share_between(start: Event, now: Event) -> Optional[float]:
    """Return exposed communication as a share of the time in steps between two step events; None if not measured."""
    measurement = _measure([start, now])
    return None if measurement is None else measurement.share


def status(events: Sequence[Event]) -> str:
    """Return how the newest generation measures exposed communication, or why not; empty if unknown."""
    values = [str(event.get("status")) for event in events if event["event"] == "communication"]
    return values[-1] if values else ""


def combine_generations(events: Sequence[Event]) -> Optional[Talking]:
    """Return the exposed communication over all generations; None if it was not measured."""
    steps = [event for event in events if event["event"] == "step"]
    numbers = dict.fromkeys(event.get("generation") for event in steps)
    measurements = [
        _measure([event for event in steps if event.get("generation") == number]) for number in numbers
    ]
    parts = [part for part in measurements if part]
    busy_s = sum(part.busy_s for part in parts)
    if not busy_s:
        return None
    talked_s = sum(part.share * part.busy_s for part in parts)
    return Talking(talked_s / busy_s, busy_s, sum(part.steps for part in parts), status(events))


def lines(events: Sequence[Event]) -> List[str]:
    """Return a line with the share of step time in exposed communication, and one with advice if over WORTH_SAYING.

    Empty with fewer than FEW measured steps.
    """
    measurement = combine_generations(events)
    if measurement is None or measurement.steps < FEW:
        return []
    line = f"communication: exposed for {measurement.share:.1%} of the time in steps"
    if measurement.basis == BOUNDED:
        line = f"communication: rank 0 waited {measurement.share:.1%} of the time in steps for the gradients of others"
    if measurement.share <= WORTH_SAYING:
        return [line]
    step_s = measurement.busy_s / measurement.steps
    line += f", {format_seconds(measurement.share * step_s)} of {format_seconds(step_s)}"
    return [line, "  " + (_slower(measurement) + _todo(events))]


def hosts(events: Sequence[Event]) -> int:
    """Return the number of hosts of the newest generation; 1 if unknown."""
    host_lists = [event.get("hosts") for event in events if event["event"] == "generation_start"]
    return len(host_lists[-1]) if host_lists and isinstance(host_lists[-1], list) else 1


def _slower(measurement: Talking) -> str:
    return "check for a slower rank, whose delay is included; else " if measurement.basis == BOUNDED else ""


def _todo(events: Sequence[Event]) -> str:
    less = "accumulate gradients over more batches per step (model.no_sync), or give each rank a larger batch"
    if hosts(events) == 1:
        return less
    return (
        less + "; compress gradients (`gradients: compress`), or test the speed of the network (wright check)"
    )


def _measure(steps: Sequence[Event]) -> Optional[Talking]:
    samples = [event for event in steps if "communicated" in event and "communicated_of" in event]
    if len(samples) < 2 or samples[-1]["communicated_of"] <= samples[0]["communicated_of"]:
        return None
    start, last = samples[0], samples[-1]
    busy_s = float(last["communicated_of"] - start["communicated_of"])
    talked_s = float(last["communicated"] - start["communicated"])
    return Talking(
        min(1.0, max(0.0, talked_s / busy_s)), busy_s, int(last.get("step", 0) - start.get("step", 0)), ""
    )
