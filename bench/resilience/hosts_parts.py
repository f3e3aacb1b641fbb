"""What marks and events say of one trial on hosts: the new step, and where the time went. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Mark = Mapping[str, Any]
Process = tuple[str, int]


def old_processes(marks: Sequence[Mark], fault: float) -> set[Process]:
    """Those that had completed steps when the fault came; what they still complete is not new."""
    return {_process(each) for each in marks if each["kind"] == "step" and each["time"] <= fault}


def newest_before(marks: Sequence[Mark], fault: float) -> int:
    """The last step of those that trained when the fault came."""
    old = old_processes(marks, fault)
    return max(
        (each["step"] for each in marks if each["kind"] == "step" and _process(each) in old), default=0
    )


def new_step(marks: Sequence[Mark], fault: float) -> Mark | None:
    """The first step beyond it, by a process that came afterwards."""
    old, before = old_processes(marks, fault), newest_before(marks, fault)
    new = (
        each for each in marks
        if each["kind"] == "step" and each["step"] > before and _process(each) not in old
    )  # fmt: skip
    return min(new, key=lambda each: float(each["time"]), default=None)


def lost_steps(marks: Sequence[Mark], fault: float) -> int:
    """How many are done again."""
    loaded = [each["step"] for each in marks if each["kind"] == "loaded" and each["time"] > fault]
    return newest_before(marks, fault) - min(loaded) if loaded else 0


def parts(fault: float, new: float, ends: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Seconds by part, each ending with the first of its times after the part before; the rest is `first step`."""
    seconds, edge = {}, fault
    for part, times in ends.items():
        later = [each for each in times if edge <= each <= new]
        if later:
            seconds[part], edge = min(later) - edge, min(later)
    return {**seconds, "first step": new - edge, "total": new - fault} if seconds else {"total": new - fault}


def _process(mark: Mark) -> Process:
    return str(mark["host"]), int(mark["pid"])
