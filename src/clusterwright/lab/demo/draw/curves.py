"""Both loss curves over each other, and their difference beneath."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.drawing.svg import (
    Scale,
    is_narrow,
    label,
    line,
    path,
    picture,
    scale,
    short,
    tag,
    ticks,
    words,
)
from clusterwright.lab.demo.report import Report

# in the drawing's own units
HIGH = 250.0
PANEL = 56.0
GAP = 30.0
LEFT = 44.0
RIGHT = 14.0
TOP = 26.0
BOTTOM = 38.0


def curves(made: Report, width: float) -> str:
    """The losses of both trainings by step; where they are the same bits, one line covers the other."""
    one, other = made.losses["with_fault"], made.losses["uninterrupted"]
    every = [loss for loss in one + other if loss is not None]
    if not every:
        return ""
    steps = max(len(one), len(other), 2)
    x = scale(1, steps, LEFT, width - RIGHT)
    y = scale(*_room(every), TOP + HIGH, TOP)
    parts = (
        *_grid(y, every, width),
        *_steps(x, steps, width),
        *_lost_steps(made, x, width),
        path(((x(n), y(loss)) for n, loss in enumerate(other, 1) if loss is not None), "curve-other"),
        path(((x(n), y(loss)) for n, loss in enumerate(one, 1) if loss is not None), "curve-one"),
        *_difference(made, x, width),
    )
    size = (width, TOP + HIGH + GAP + PANEL + BOTTOM)
    return picture(size, "Loss of both trainings by step", _told(made), *parts)


def _room(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    spare = (high - low) * 0.06 or 0.5
    return low - spare, high + spare


def _grid(y: Scale, values: Sequence[float], width: float) -> list[str]:
    drawn = [words("loss 损失", 2, 13, "axis")]
    for value in ticks(*_room(values), 5):
        drawn.append(line(LEFT, y(value), width - RIGHT, y(value), "grid"))
        drawn.append(words(short(value), LEFT - 7, y(value) + 4, "tick", text_anchor="end"))
    return drawn


def _steps(x: Scale, steps: int, width: float) -> list[str]:
    top, bottom = TOP + HIGH, TOP + HIGH + GAP + PANEL
    drawn = [words("step 步", width - RIGHT, bottom + 35, "axis", text_anchor="end")]
    for value in ticks(0, steps, 3 if is_narrow(width) else 6):
        place = x(max(value, 1))
        drawn.append(line(place, top, place, top + 4, "axis-line"))
        drawn.append(words(short(value), place, bottom + 18, "tick", text_anchor="middle"))
    return drawn


def _lost_steps(made: Report, x: Scale, width: float) -> list[str]:
    """A band over the steps that were done again, and a line where the fault struck."""
    if not made.fault:
        return []
    at = made.fault["at_step"]
    place = x(max(at, 1))
    drawn = []
    if made.recovery and at > made.recovery.resumed_step:
        start = x(max(made.recovery.resumed_step, 1))
        drawn.append(tag("rect", x=start, y=TOP, width=place - start, height=HIGH, class_="again"))
    drawn.append(line(place, TOP - 6, place, TOP + HIGH, "fault-line"))
    said = f"{made.fault['kind']} after step {at}"
    return [*drawn, label(said, place, TOP - 11, "fault-text", (LEFT, width))]


def _difference(made: Report, x: Scale, width: float) -> list[str]:
    one, other = made.losses["with_fault"], made.losses["uninterrupted"]
    pairs = enumerate(zip(one, other, strict=False), 1)
    gaps = [(n, mine - theirs) for n, (mine, theirs) in pairs if mine is not None and theirs is not None]
    top, most = TOP + HIGH + GAP, max((abs(gap) for _, gap in gaps), default=0.0)
    y = scale(-(most or 1.0), most or 1.0, top + PANEL - 6, top + 6)
    same = (
        f"0 in every bit of all {made.steps_total}"
        if made.losses_equal_bitwise
        else f"at most {most:.1e} in {len(gaps)}"
    )
    return [
        tag("rect", x=LEFT, y=top, width=width - RIGHT - LEFT, height=PANEL, class_="panel"),
        words("difference 差值", LEFT + 8, top + 16, "axis"),
        words(same if gaps else "unknown", width - RIGHT - 8, top + 16, "zero-text", text_anchor="end"),
        words("0", LEFT - 7, y(0) + 4, "tick", text_anchor="end"),
        path(((x(n), y(gap)) for n, gap in gaps), "curve-gap"),
    ]


def _told(made: Report) -> str:
    ends = f"Final loss {made.loss_final} with the fault and {made.loss_final_uninterrupted} without."
    if made.losses_equal_bitwise:
        return f"{ends} They are equal bit for bit in every step."
    return f"{ends} They differ in {len(made.steps_differing)} steps."
