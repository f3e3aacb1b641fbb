"""Waterfall chart of one iteration: the ideal time first, then every loss, up to the wall time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from clusterwright.drawing.svg import (
    Scale,
    is_narrow,
    line,
    scale,
    short,
    svg_image,
    tag,
    text_element,
    ticks,
)
from clusterwright.i18n import _, both_languages
from clusterwright.plan.charts.sheet import TIME
from clusterwright.plan.prediction import Time

THICK, AIR, TOP, BOTTOM = 20.0, 7.0, 6.0, 26.0  # in units of the drawing
HIDDEN = 0.0005  # a part below this share of the total is not drawn; the table has it


def parts(time: Time) -> list[tuple[str, float]]:
    """Return (field, seconds) of the parts above 0.05% of the iteration, in the order of Time's fields."""
    every = [(part.name, float(getattr(time, part.name))) for part in fields(time)]
    return [(name, value) for name, value in every if value > HIDDEN * float(time.total)]


def waterfall(time: Time, width: float) -> str:
    """Draw the parts of an iteration as a waterfall: each bar begins where the previous one ends."""
    total, left = float(time.total), 8.0 if is_narrow(width) else 330.0
    x = scale(0, total, left, width - 64)
    time_parts = parts(time)
    pitch = THICK + AIR + (16 if is_narrow(width) else 0)
    drawn: list[str] = []
    start = 0.0
    for row, (name, value) in enumerate(time_parts):
        drawn += _step(x, TOP + row * pitch, name, (start, value, total), narrow=is_narrow(width))
        start += value
    bottom = TOP + len(time_parts) * pitch
    drawn += _seconds(x, total, bottom, width)
    description = ", ".join(f"{_(TIME[name])} {value:.3g} s" for name, value in time_parts)
    return svg_image(
        (width, bottom + BOTTOM), _("One iteration takes {seconds:.3g} s", seconds=total), description, *drawn
    )


def _step(
    x: Scale, top: float, name: str, span: tuple[float, float, float], *, narrow: bool
) -> Iterator[str]:
    start, value, total = span
    label = both_languages(TIME[name])
    if narrow:
        yield text_element(label, 2, top + 12, "said")
        top += 16
    else:
        yield text_element(label, 322, top + THICK / 2 + 5, "said", text_anchor="end")
    title = tag("title", f"{label}: {value:.4g} s")
    style = "training" if name == "ideal" else "part-1"
    wide = max(x(start + value) - x(start), 1.0)
    yield tag("rect", title, x=x(start), y=top, width=wide, height=THICK, rx=2, class_=style)
    share = f"{value:.3g} s, {value / total:.1%}"
    free_width = x(total) - x(start) - wide
    if free_width > 60:
        yield text_element(share, x(start) + wide + 6, top + THICK / 2 + 5, "tick")
    else:
        yield text_element(share, x(start) - 6, top + THICK / 2 + 5, "tick", text_anchor="end")


def _seconds(x: Scale, total: float, bottom: float, width: float) -> Iterator[str]:
    for value in ticks(0, total, 4 if is_narrow(width) else 7):
        yield line(x(value), bottom, x(value), bottom + 5, "axis-line")
        yield text_element(f"{short(value)} s", x(value), bottom + 20, "tick", text_anchor="middle")
