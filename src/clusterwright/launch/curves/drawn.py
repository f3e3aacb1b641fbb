"""Draw one training curve as SVG: the mean as a line, minimum to maximum as a band, restarts as marks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clusterwright.drawing.svg import Scale, is_narrow, line, path, scale, svg_image, tag, text_element, ticks
from clusterwright.i18n import _

HIGH, TOP, BOTTOM, LEFT, RIGHT = 190.0, 14.0, 26.0, 64.0, 14.0  # height and margins, in units of the SVG
LEAST_SHARE = 0.05  # minimum upper end of the axis of a share, so that a tiny share looks tiny
Point = Sequence[float]  # step, mean, minimum, maximum


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve: its name in the report, its title, and the format of its values."""

    name: str
    title: tuple[str, str]  # English, Chinese
    unit: str
    share: bool = False  # a ratio, shown in percent


def drawing(
    curve: Curve, points: Sequence[Point], restarts: Sequence[dict[str, Any]], width: float, **more: Any
) -> str:
    """Return a curve as an SVG image with its band and the restarts; `dots` are further values as (step, value)."""
    dots: Sequence[tuple[float, float]] = more.get("dots", ())
    low, high = bounds(points, dots)
    low, high = (0.0, max(high, LEAST_SHARE)) if curve.share else (low, high)
    last = max(point[0] for point in points)
    x = scale(0, last, LEFT, width - RIGHT)
    y = inside(scale(low, high, TOP + HIGH, TOP))
    parts = (
        *_grid(curve, y, (low, high), width),
        *_steps(x, last, width),
        *_restart_lines(restarts, x),
        band(points, x, y),
        path(((x(step), y(mean)) for step, mean, *_ in points), "curve"),
        *(tag("circle", cx=x(step), cy=y(value), r=3.2, class_="dot") for step, value in dots),
    )
    return svg_image((width, TOP + HIGH + BOTTOM), curve.title[0], describe(curve, points, restarts), *parts)


def inside(y: Scale) -> Scale:
    """Return the scale with its coordinates limited to the drawing."""
    return lambda value: min(TOP + HIGH, max(TOP, y(value)))


def bounds(points: Sequence[Point], dots: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the range of the y axis, without the outermost 1 % of points: one spike must not flatten the curve."""
    lows, highs = sorted(point[2] for point in points), sorted(point[3] for point in points)
    outliers = len(points) // 100
    low, high = lows[outliers], highs[-1 - outliers]
    dot_values = [value for _, value in dots]
    low, high = min([low, *dot_values]), max([high, *dot_values])
    spare = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return (max(0.0, low - spare) if low >= 0 else low - spare), high + spare


def band(points: Sequence[Point], x: Scale, y: Scale) -> str:
    """Return the band from minimum to maximum; empty if each point is a single step."""
    if all(point[2] == point[3] for point in points):
        return ""
    above = [(x(p[0]), y(p[3])) for p in points]
    below = [(x(p[0]), y(p[2])) for p in reversed(points)]
    return path([*above, *below], "band")


def describe(curve: Curve, points: Sequence[Point], restarts: Sequence[dict[str, Any]]) -> str:
    """Return the text alternative of a curve's image for screen readers: first and last value, extremes, restarts."""
    first, last = points[0], points[-1]
    description = _(
        "From {first} at step {first_step:g} to {last} at step {last_step:g}; minimum {minimum}, maximum {maximum}.",
        first=number(curve, first[1]),
        first_step=first[0],
        last=number(curve, last[1]),
        last_step=last[0],
        minimum=number(curve, min(p[2] for p in points)),
        maximum=number(curve, max(p[3] for p in points)),
    )
    return " ".join([description, *map(_restart, restarts)])


def _restart(restart: dict[str, Any]) -> str:
    return _("Restarted from step {step}: {reason}.", step=restart["step"], reason=restart["reason"])


def number(curve: Curve, value: float) -> str:
    """Return a value of a curve as text with its unit."""
    if curve.share:
        return f"{value:.1%}"
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.3g}{letter}{curve.unit}"
    return f"{value:.4g}{curve.unit}"


def _grid(curve: Curve, y: Scale, value_range: tuple[float, float], width: float) -> Iterator[str]:
    for value in ticks(*value_range, 4):
        label = number(curve, 0.0 if math.isclose(value, 0, abs_tol=1e-12) else value)
        yield line(LEFT, y(value), width - RIGHT, y(value), "grid")
        yield text_element(label, LEFT - 8, y(value) + 4, "tick", text_anchor="end")


def _steps(x: Scale, last: float, width: float) -> Iterator[str]:
    bottom = TOP + HIGH
    for value in ticks(0, last, 3 if is_narrow(width) else 8):
        yield line(x(value), bottom, x(value), bottom + 4, "axis-line")
        yield text_element(f"{value:g}", x(value), bottom + 19, "tick", text_anchor="middle")


def _restart_lines(restarts: Sequence[dict[str, Any]], x: Scale) -> Iterator[str]:
    for restart in restarts:
        title = tag("title", _restart(restart).replace("<", "(").replace("&", "+"))
        position = x(restart["step"])
        yield tag("line", title, x1=position, y1=TOP, x2=position, y2=TOP + HIGH, class_="restart")
