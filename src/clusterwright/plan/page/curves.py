"""The planner's curves and clouds, in one frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from clusterwright.plan.page.sheet import SAID, both_languages
from clusterwright.units import GiB

HIGH, LEFT, RIGHT, TOP, BOTTOM = 300.0, 62.0, 16.0, 30.0, 42.0  # in the drawing's own units


@dataclass(frozen=True, slots=True)
class Frame:
    """Two scales and the room they span."""

    x: Scale
    y: Scale
    width: float
    across: tuple[float, float]
    up: tuple[float, float]

    @property
    def size(self) -> tuple[float, float]:
        """Of the whole drawing."""
        return self.width, TOP + HIGH + BOTTOM


def frame(across: tuple[float, float], up: tuple[float, float], width: float) -> Frame:
    """Values `across` from left to right, `up` from bottom to top."""
    x = scale(*across, LEFT, width - RIGHT)
    return Frame(x, scale(*up, TOP + HIGH, TOP), width, across, up)


def axes(made: Frame, across: str, up: str) -> Iterator[str]:
    """Grid, ticks and what they count."""
    yield words(up, 2, 14, "axis")
    for value in ticks(*made.up, 6):
        yield line(LEFT, made.y(value), made.width - RIGHT, made.y(value), "grid")
        yield words(_counted(value), LEFT - 7, made.y(value) + 4, "tick", text_anchor="end")
    for value in ticks(*made.across, 4 if is_narrow(made.width) else 8):
        yield line(made.x(value), TOP + HIGH, made.x(value), TOP + HIGH + 4, "axis-line")
        yield words(_counted(value), made.x(value), TOP + HIGH + 18, "tick", text_anchor="middle")
    yield words(across, made.width - RIGHT, TOP + HIGH + 36, "axis", text_anchor="end")


def _counted(value: float) -> str:
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * factor or (abs(value) >= factor and value % factor == 0):
            return f"{short(value / factor)}{unit}"
    return short(value)


SLOWEST = 4.0  # times the best: what is slower is drawn at the edge, or nothing else could be told apart


@dataclass(frozen=True, slots=True)
class Dot:
    """One layout: what it is called, seconds of an iteration, bytes at the peak, and its family."""

    name: str
    seconds: float
    memory_bytes: float
    family: str = ""


def scatter(dots: Sequence[Dot], limit_bytes: float, width: float) -> str:
    """A dot per layout; to the right of the red line it does not fit."""
    fitting = [dot for dot in dots if dot.memory_bytes <= limit_bytes] or list(dots)
    best = min(fitting, key=lambda dot: dot.seconds)
    top = min(max(dot.seconds for dot in dots), SLOWEST * best.seconds)
    most = min(max(dot.memory_bytes for dot in dots), 2 * limit_bytes)
    made = frame((0, max(most, limit_bytes) * 1.05 / GiB), (0, top * 1.06), width)
    edge = made.x(limit_bytes / GiB)
    drawn = [
        *axes(made, both_languages(SAID["GiB per GPU"]), both_languages(SAID["seconds per iteration"])),
        tag("rect", x=edge, y=TOP, width=max(made.width - RIGHT - edge, 0.0), height=HIGH, class_="band"),
        line(edge, TOP, edge, TOP + HIGH, "fault-line"),
        words(both_languages(SAID["limit"]), edge - 5, TOP + 12, "fault-text", text_anchor="end"),
        *(_dot(made, dot, top, most) for dot in dots),
        *_best(made, best),
    ]
    told = f"{len(dots)} layouts; the best that fits: {best.name}, {best.seconds:.3g} s"
    return picture(made.size, SAID["layouts"][0], told, *drawn)


def _dot(made: Frame, dot: Dot, top: float, most: float) -> str:
    title = tag("title", f"{dot.name}: {dot.seconds:.4g} s, {dot.memory_bytes / GiB:.1f} GiB")
    x, y = made.x(min(dot.memory_bytes, most) / GiB), made.y(min(dot.seconds, top))
    return tag("circle", title, cx=x, cy=y, r=3, class_=f"dot-of {dot.family}".strip())


def _best(made: Frame, best: Dot) -> Iterator[str]:
    x, y = made.x(best.memory_bytes / GiB), made.y(best.seconds)
    yield tag("circle", cx=x, cy=y, r=7, class_="best-ring")
    name = f"{both_languages(SAID['best'])}: {best.name}"
    yield label(name, x + 12, y + 18, "new-text", (LEFT, made.width - RIGHT))


@dataclass(frozen=True, slots=True)
class Point:
    """Throughput on so many GPUs, with its P10 to P90 range (all in the same unit)."""

    gpus: int
    rate: float
    low: float
    high: float


def scaling(points: Sequence[Point], unit: str, width: float) -> str:
    """The predicted curve in its range, over the linear one that starts at the first point."""
    first, last = points[0], points[-1]
    ideal = first.rate / first.gpus * last.gpus
    made = frame((0, last.gpus * 1.04), (0, max(ideal, last.high) * 1.06), width)
    drawn = [
        *axes(made, both_languages(SAID["GPUs"]), unit),
        _band(made, points),
        path(((made.x(0), made.y(0)), (made.x(last.gpus), made.y(ideal))), "ideal-line"),
        path(((made.x(point.gpus), made.y(point.rate)) for point in points), "progress"),
        *_dots(made, points),
        *_named(last, ideal),
    ]
    told = "; ".join(f"{point.gpus} GPUs: {point.rate:.4g} {unit}" for point in points)
    return picture(made.size, SAID["scaling"][0], told, *drawn)


def _band(made: Frame, points: Sequence[Point]) -> str:
    edge = [(point.gpus, point.high) for point in points] + [(p.gpus, p.low) for p in reversed(points)]
    return tag(
        "polygon", points=" ".join(f"{made.x(a):.1f},{made.y(b):.1f}" for a, b in edge), class_="range"
    )


def _dots(made: Frame, points: Sequence[Point]) -> Iterator[str]:
    first = points[0]
    for point in points:
        share = point.rate / point.gpus / (first.rate / first.gpus)
        title = tag("title", f"{point.gpus} GPUs: {point.rate:.4g}, {share:.1%} of linear")
        yield tag("circle", title, cx=made.x(point.gpus), cy=made.y(point.rate), r=4, class_="checkpoint")


def _named(last: Point, ideal: float) -> Iterator[str]:
    """What the two lines are, where neither of them runs."""
    left, top = LEFT + 12, TOP + 16
    yield line(left, top - 4, left + 26, top - 4, "progress")
    reached = f"{last.rate / ideal:.0%} @ {last.gpus}"
    yield words(f"{both_languages(SAID['predicted'])} {reached}", left + 34, top, "place")
    yield line(left, top + 18, left + 26, top + 18, "ideal-line")
    yield words(both_languages(SAID["ideal line"]), left + 34, top + 22, "tick")


YEAR_H = 8760.0


@dataclass(frozen=True, slots=True)
class Line:
    """Cost of a year by hours of use: fixed + hourly x hours, in the currency of the page."""

    name: str
    fixed: float
    hourly: float
    owned: bool

    def at(self, hours: float) -> float:
        """Cost of a year with so many hours of use."""
        return self.fixed + self.hourly * hours


def break_even(lines: Sequence[Line], hours: float | None, currency: str, width: float) -> str:
    """A line per way to pay; where owned and rented cross, a green mark at `hours` (None: they never do)."""
    top = max(one.at(YEAR_H) for one in lines)
    made = frame((0, YEAR_H), (0, top * 1.05), width)
    drawn = [
        *axes(made, both_languages(SAID["hours per year"]), currency),
        *(piece for one in lines for piece in _line(made, one)),
        *(_crossing(made, hours) if hours is not None else ()),
    ]
    said = "never" if hours is None else f"at {hours:.0f} hours a year"
    told = f"{', '.join(one.name for one in lines)}; break-even {said}"
    return picture(made.size, SAID["cost"][0], told, *drawn)


def _line(made: Frame, one: Line) -> Iterator[str]:
    style = "progress" if one.owned else "rented-line"
    yield path(((made.x(hours), made.y(one.at(hours))) for hours in (0.0, YEAR_H)), style)
    place = made.y(one.at(YEAR_H)) - 7
    yield words(one.name, made.width - RIGHT, max(place, TOP + 12), "tick", text_anchor="end")


def _crossing(made: Frame, hours: float) -> Iterator[str]:
    x = made.x(hours)
    yield line(x, TOP, x, TOP + HIGH, "new-line")
    said = f"{both_languages(SAID['break-even'])} {hours:.0f} h"
    yield label(said, x + 6, TOP + HIGH - 8, "new-text", (LEFT, made.width - RIGHT))
