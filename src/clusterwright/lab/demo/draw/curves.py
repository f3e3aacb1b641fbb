"""Draw both loss curves, and their difference below."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.drawing.svg import (
    Scale,
    is_narrow,
    label,
    line,
    path,
    scale,
    short,
    svg_image,
    tag,
    text_element,
    ticks,
)
from clusterwright.i18n import _, both_languages
from clusterwright.lab.demo.report import DemoReport

# in the drawing's units
HIGH = 250.0
PANEL = 56.0
GAP = 30.0
LEFT = 44.0
RIGHT = 14.0
TOP = 26.0
BOTTOM = 38.0


def curves(report: DemoReport, width: float) -> str:
    """Return the SVG of the losses of both trainings by step; where they have the same bits, one line covers the other.

    Empty if no loss was recorded.
    """
    with_fault, uninterrupted = report.losses["with_fault"], report.losses["uninterrupted"]
    every = [loss for loss in with_fault + uninterrupted if loss is not None]
    if not every:
        return ""
    steps = max(len(with_fault), len(uninterrupted), 2)
    x = scale(1, steps, LEFT, width - RIGHT)
    y = scale(*_padded_range(every), TOP + HIGH, TOP)
    parts = (
        *_grid(y, every, width),
        *_steps(x, steps, width),
        *_lost_steps(report, x, width),
        path(((x(n), y(loss)) for n, loss in enumerate(uninterrupted, 1) if loss is not None), "curve-other"),
        path(((x(n), y(loss)) for n, loss in enumerate(with_fault, 1) if loss is not None), "curve-one"),
        *_difference(report, x, width),
    )
    size = (width, TOP + HIGH + GAP + PANEL + BOTTOM)
    return svg_image(size, _("Loss of both trainings by step"), _description(report), *parts)


def _padded_range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    spare = (high - low) * 0.06 or 0.5
    return low - spare, high + spare


def _grid(y: Scale, values: Sequence[float], width: float) -> list[str]:
    drawn = [text_element(both_languages("loss"), 2, 13, "axis")]
    for value in ticks(*_padded_range(values), 5):
        drawn.append(line(LEFT, y(value), width - RIGHT, y(value), "grid"))
        drawn.append(text_element(short(value), LEFT - 7, y(value) + 4, "tick", text_anchor="end"))
    return drawn


def _steps(x: Scale, steps: int, width: float) -> list[str]:
    top, bottom = TOP + HIGH, TOP + HIGH + GAP + PANEL
    drawn = [text_element(both_languages("step"), width - RIGHT, bottom + 35, "axis", text_anchor="end")]
    for value in ticks(0, steps, 3 if is_narrow(width) else 6):
        tick_x = x(max(value, 1))
        drawn.append(line(tick_x, top, tick_x, top + 4, "axis-line"))
        drawn.append(text_element(short(value), tick_x, bottom + 18, "tick", text_anchor="middle"))
    return drawn


def _lost_steps(report: DemoReport, x: Scale, width: float) -> list[str]:
    """Return the SVG of a band over the repeated steps, and of a line at the fault; nothing without a fault.

    No band if no step was repeated.
    """
    if not report.fault:
        return []
    fault_step = report.fault["at_step"]
    fault_x = x(max(fault_step, 1))
    drawn = []
    if report.recovery and fault_step > report.recovery.resumed_step:
        start = x(max(report.recovery.resumed_step, 1))
        drawn.append(tag("rect", x=start, y=TOP, width=fault_x - start, height=HIGH, class_="again"))
    drawn.append(line(fault_x, TOP - 6, fault_x, TOP + HIGH, "fault-line"))
    caption = _("{fault} after step {fault_step}", fault=report.fault["kind"], fault_step=fault_step)
    return [*drawn, label(caption, fault_x, TOP - 11, "fault-text", (LEFT, width))]


def _difference(report: DemoReport, x: Scale, width: float) -> list[str]:
    with_fault, uninterrupted = report.losses["with_fault"], report.losses["uninterrupted"]
    pairs = enumerate(zip(with_fault, uninterrupted, strict=False), 1)
    gaps = [
        (n, faulted_loss - theirs)
        for n, (faulted_loss, theirs) in pairs
        if faulted_loss is not None and theirs is not None
    ]
    top, most = TOP + HIGH + GAP, max((abs(gap) for _ignored, gap in gaps), default=0.0)
    y = scale(-(most or 1.0), most or 1.0, top + PANEL - 6, top + 6)
    summary = (
        _("0: all {steps_total} losses have the same bits", steps_total=report.steps_total)
        if report.losses_equal_bitwise
        else _("at most {most:.1e}, in {count} steps", most=most, count=len(gaps))
    )
    return [
        tag("rect", x=LEFT, y=top, width=width - RIGHT - LEFT, height=PANEL, class_="panel"),
        text_element(both_languages("difference"), LEFT + 8, top + 16, "axis"),
        text_element(
            summary if gaps else "unknown", width - RIGHT - 8, top + 16, "zero-text", text_anchor="end"
        ),
        text_element("0", LEFT - 7, y(0) + 4, "tick", text_anchor="end"),
        path(((x(n), y(gap)) for n, gap in gaps), "curve-gap"),
    ]


def _description(report: DemoReport) -> str:
    ends = _(
        "Final loss: {loss} with the fault, {undisturbed} without.",
        loss=report.loss_final,
        undisturbed=report.loss_final_uninterrupted,
    )
    if report.losses_equal_bitwise:
        return _("{ends} Every step's loss has the same bits.", ends=ends)
    return _("{ends} They differ in {count} steps.", ends=ends, count=len(report.steps_differing))
