"""How much of a run's steps was communication that nothing hid, and what to do about it. Pure, over its events."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence

from clusterwright.onhost.supervisor.goodput.timeline import Event

# As runtime/exposed.py says what is known; BOUNDED where rank 0 alone says how long it waits, slower ranks in it.
EXACT, BOUNDED, SINGLE_RANK, SHARDED, STAGES, NOT_DDP = (
    "measured", "bounded", "alone", "sharded", "stages", "other",
)  # fmt: skip
WORTH_SAYING = 0.1  # a share of the time in steps, as plan/cnn/step.py takes it for what holds a training up
FEW = 10  # steps, of which nothing is concluded


class Talking(NamedTuple):
    """What communication took of the steps of a run."""

    share: float  # of the time in steps
    busy_s: float
    steps: int
    basis: str


def share(steps: Sequence[Event]) -> Optional[float]:
    """Of steps of one generation; those up to the first that tells of it are left out, as libraries are loaded then."""
    measurement = _measure(steps)
    return None if measurement is None else measurement.share


def share_between(start: Event, now: Event) -> Optional[float]:
    """Of the steps from one event that tells of it to another; None where one of them does not."""
    measurement = _measure([start, now])
    return None if measurement is None else measurement.share


def known(events: Sequence[Event]) -> str:
    """What the newest generation says of it; empty where it says nothing."""
    values = [str(event.get("known")) for event in events if event["event"] == "communication"]
    return values[-1] if values else ""


def combine_generations(events: Sequence[Event]) -> Optional[Talking]:
    """Of all generations together; None where `basis` says why."""
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
    return Talking(talked_s / busy_s, busy_s, sum(part.steps for part in parts), known(events))


def lines(events: Sequence[Event]) -> List[str]:
    """One line where it is measured, and one for what to do where it is much."""
    measurement = combine_generations(events)
    if measurement is None or measurement.steps < FEW:
        return []
    line = f"communication: {measurement.share:.1%} of the time in steps was nothing else"
    if measurement.basis == BOUNDED:
        line = f"communication: rank 0 waited {measurement.share:.1%} of the time in steps for the gradients of others"
    if measurement.share <= WORTH_SAYING:
        return [line]
    step_s = measurement.busy_s / measurement.steps
    line += f", {measurement.share * step_s * 1000:.3g} ms of {step_s * 1000:.3g} ms"
    return [line, "  " + (_slower(measurement) + _todo(events))]


def hosts(events: Sequence[Event]) -> int:
    """How many the newest generation ran on; 1 where nobody says so."""
    host_lists = [event.get("hosts") for event in events if event["event"] == "generation_start"]
    return len(host_lists[-1]) if host_lists and isinstance(host_lists[-1], list) else 1


def _slower(measurement: Talking) -> str:
    return "a slower rank is in it, if there is one; else: " if measurement.basis == BOUNDED else ""


def _todo(events: Sequence[Event]) -> str:
    less = (
        "add gradients up over more batches before a step (model.no_sync), or give each rank a larger batch"
    )
    if hosts(events) == 1:
        return less
    return (
        less
        + "; send less (`gradients: compress`), or see whether the network is as fast as it should be (wright check)"
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
