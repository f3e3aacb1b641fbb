"""Evaluation of one trial on hosts from marks and events: the new step, and the parts of the time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Mark = Mapping[str, Any]
Process = tuple[str, int]


def old_processes(marks: Sequence[Mark], fault: float) -> set[Process]:
    """Return the processes that had completed steps before the fault; their later steps are not new."""
    return {_process(each) for each in marks if each["kind"] == "step" and each["time"] <= fault}


def newest_before(marks: Sequence[Mark], fault: float) -> int:
    """Return the last step completed before the fault."""
    old = old_processes(marks, fault)
    return max(
        (each["step"] for each in marks if each["kind"] == "step" and _process(each) in old), default=0
    )


def new_step(marks: Sequence[Mark], fault: float) -> Mark | None:
    """Return the first mark of a later step, by a process started after the fault."""
    old, before = old_processes(marks, fault), newest_before(marks, fault)
    new = (
        each for each in marks
        if each["kind"] == "step" and each["step"] > before and _process(each) not in old
    )  # fmt: skip
    return min(new, key=lambda each: float(each["time"]), default=None)


def lost_steps(marks: Sequence[Mark], fault: float) -> int:
    """Return the number of steps that were repeated."""
    loaded = [each["step"] for each in marks if each["kind"] == "loaded" and each["time"] > fault]
    return newest_before(marks, fault) - min(loaded) if loaded else 0


def parts(fault: float, new: float, ends: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return seconds by part; each ends at the first of its times after the previous part, the rest is `first step`."""
    seconds, edge = {}, fault
    for part, times in ends.items():
        later = [each for each in times if edge <= each <= new]
        if later:
            seconds[part], edge = min(later) - edge, min(later)
    return {**seconds, "first step": new - edge, "total": new - fault} if seconds else {"total": new - fault}


def _process(mark: Mark) -> Process:
    return str(mark["host"]), int(mark["pid"])
