"""The planner's line and scatter charts, which share one frame with axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from clusterwright.units import GiB

HIGH, LEFT, RIGHT, TOP, BOTTOM = 300.0, 62.0, 16.0, 30.0, 42.0  # in units of the drawing


@dataclass(frozen=True, slots=True)
class Frame:
    """The plot area of a chart: x and y scales, their value ranges, and the width."""

    x: Scale
    y: Scale
    width: float
    x_range: tuple[float, float]
    up: tuple[float, float]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the whole drawing, axes included."""
        return self.width, TOP + HIGH + BOTTOM


def frame(x_range: tuple[float, float], up: tuple[float, float], width: float) -> Frame:
    """Return a frame whose x axis spans the values `x_range` and whose y axis spans `up`."""
    x = scale(*x_range, LEFT, width - RIGHT)
    return Frame(x, scale(*up, TOP + HIGH, TOP), width, x_range, up)


def axes(plot: Frame, x_label: str, up: str) -> Iterator[str]:
    """Yield grid, ticks and labels of both axes; `up` is the label of the y axis."""
    yield text_element(up, 2, 14, "axis")
    for value in ticks(*plot.up, 6):
        yield line(LEFT, plot.y(value), plot.width - RIGHT, plot.y(value), "grid")
        yield text_element(_counted(value), LEFT - 7, plot.y(value) + 4, "tick", text_anchor="end")
    for value in ticks(*plot.x_range, 4 if is_narrow(plot.width) else 8):
        yield line(plot.x(value), TOP + HIGH, plot.x(value), TOP + HIGH + 4, "axis-line")
        yield text_element(_counted(value), plot.x(value), TOP + HIGH + 18, "tick", text_anchor="middle")
    yield text_element(x_label, plot.width - RIGHT, TOP + HIGH + 36, "axis", text_anchor="end")


def _counted(value: float) -> str:
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 10 * factor or (abs(value) >= factor and value % factor == 0):
            return f"{short(value / factor)}{unit}"
    return short(value)


SLOWEST = 4.0  # times the best: slower layouts are drawn at the edge, so that the others stay distinguishable


@dataclass(frozen=True, slots=True)
class Dot:
    """One layout of a scatter chart: name, seconds per iteration, peak bytes, and CSS class of its family."""

    name: str
    seconds: float
    memory_bytes: float
    family: str = ""


def scatter(dots: Sequence[Dot], limit_bytes: float, width: float) -> str:
    """Return an SVG image with a dot per layout, time over memory; right of the red line (`limit_bytes`) none fits.

    The axes end at 4 times the fastest time that fits and at twice the limit; dots beyond lie at the edge.
    """
    fitting = [dot for dot in dots if dot.memory_bytes <= limit_bytes] or list(dots)
    best = min(fitting, key=lambda dot: dot.seconds)
    top = min(max(dot.seconds for dot in dots), SLOWEST * best.seconds)
    most = min(max(dot.memory_bytes for dot in dots), 2 * limit_bytes)
    plot = frame((0, max(most, limit_bytes) * 1.05 / GiB), (0, top * 1.06), width)
    edge = plot.x(limit_bytes / GiB)
    drawn = [
        *axes(plot, both_languages("GiB per GPU"), both_languages("seconds per iteration")),
        tag("rect", x=edge, y=TOP, width=max(plot.width - RIGHT - edge, 0.0), height=HIGH, class_="band"),
        line(edge, TOP, edge, TOP + HIGH, "fault-line"),
        text_element(both_languages("usable memory"), edge - 5, TOP + 12, "fault-text", text_anchor="end"),
        *(_dot(plot, dot, top, most) for dot in dots),
        *_best(plot, best),
    ]
    description = _(
        "{count} layouts; the fastest that fits: {best}, {seconds:.3g} s",
        count=len(dots),
        best=best.name,
        seconds=best.seconds,
    )
    return svg_image(plot.size, _("Layouts: speed against memory"), description, *drawn)


def _dot(plot: Frame, dot: Dot, top: float, most: float) -> str:
    title = tag("title", f"{dot.name}: {dot.seconds:.4g} s, {dot.memory_bytes / GiB:.1f} GiB")
    x, y = plot.x(min(dot.memory_bytes, most) / GiB), plot.y(min(dot.seconds, top))
    return tag("circle", title, cx=x, cy=y, r=3, class_=f"dot-of {dot.family}".strip())


def _best(plot: Frame, best: Dot) -> Iterator[str]:
    x, y = plot.x(best.memory_bytes / GiB), plot.y(best.seconds)
    yield tag("circle", cx=x, cy=y, r=7, class_="best-ring")
    name = f"{both_languages('best')}: {best.name}"
    yield label(name, x + 12, y + 18, "new-text", (LEFT, plot.width - RIGHT))


@dataclass(frozen=True, slots=True)
class Point:
    """Throughput on `gpus` GPUs, with its P10 to P90 range (all in the same unit)."""

    gpus: int
    rate: float
    low: float
    high: float


def scaling(points: Sequence[Point], unit: str, width: float) -> str:
    """Draw predicted throughput over GPUs with its range, and linear scaling from the first point for comparison."""
    baseline, last = points[0], points[-1]
    ideal = baseline.rate / baseline.gpus * last.gpus
    plot = frame((0, last.gpus * 1.04), (0, max(ideal, last.high) * 1.06), width)
    drawn = [
        *axes(plot, both_languages("number of GPUs"), unit),
        _band(plot, points),
        path(((plot.x(0), plot.y(0)), (plot.x(last.gpus), plot.y(ideal))), "ideal-line"),
        path(((plot.x(point.gpus), plot.y(point.rate)) for point in points), "progress"),
        *_dots(plot, points),
        *_named(last, ideal),
    ]
    description = "; ".join(
        _("{gpus} GPUs: {rate:.4g} {unit}", gpus=point.gpus, rate=point.rate, unit=unit) for point in points
    )
    return svg_image(plot.size, _("Scaling"), description, *drawn)


def _band(plot: Frame, points: Sequence[Point]) -> str:
    edge = [(point.gpus, point.high) for point in points] + [(p.gpus, p.low) for p in reversed(points)]
    return tag(
        "polygon", points=" ".join(f"{plot.x(a):.1f},{plot.y(b):.1f}" for a, b in edge), class_="range"
    )


def _dots(plot: Frame, points: Sequence[Point]) -> Iterator[str]:
    baseline = points[0]
    for point in points:
        share = point.rate / point.gpus / (baseline.rate / baseline.gpus)
        text = _(
            "{gpus} GPUs: {rate:.4g}, {share:.1%} of linear scaling",
            gpus=point.gpus,
            rate=point.rate,
            share=share,
        )
        title = tag("title", text)
        yield tag("circle", title, cx=plot.x(point.gpus), cy=plot.y(point.rate), r=4, class_="checkpoint")


def _named(last: Point, ideal: float) -> Iterator[str]:
    """Yield the legend, top left: predicted, with the last point's share of linear throughput (`ideal`), and linear."""
    left, top = LEFT + 12, TOP + 16
    yield line(left, top - 4, left + 26, top - 4, "progress")
    reached = f"{last.rate / ideal:.0%} @ {last.gpus}"
    yield text_element(f"{both_languages('predicted')} {reached}", left + 34, top, "place")
    yield line(left, top + 18, left + 26, top + 18, "ideal-line")
    yield text_element(both_languages("linear"), left + 34, top + 22, "tick")


YEAR_H = 8760.0


@dataclass(frozen=True, slots=True)
class ChartLine:
    """Yearly cost of one way to get GPUs: fixed + hourly x hours of use, in the currency of the page."""

    name: str
    fixed: float
    hourly: float
    owned: bool

    def cost(self, hours: float) -> float:
        """Return the cost of a year with `hours` hours of use: the fixed cost and that of the hours."""
        return self.fixed + self.hourly * hours


def break_even(lines: Sequence[ChartLine], hours: float | None, currency: str, width: float) -> str:
    """Draw yearly cost over hours of use, one line per option; green line: break-even at `hours` (None: never)."""
    top = max(series.cost(YEAR_H) for series in lines)
    plot = frame((0, YEAR_H), (0, top * 1.05), width)
    drawn = [
        *axes(plot, both_languages("hours per year"), currency),
        *(piece for series in lines for piece in _line(plot, series)),
        *(_crossing(plot, hours) if hours is not None else ()),
    ]
    names = ", ".join(_(series.name) for series in lines)
    if hours is None:
        description = _("{lines}; no break-even", lines=names)
    else:
        description = _("{lines}; break-even at {hours:,.0f} hours per year", lines=names, hours=hours)
    return svg_image(plot.size, _("Cost over hours of use"), description, *drawn)


def _line(plot: Frame, series: ChartLine) -> Iterator[str]:
    style = "progress" if series.owned else "rented-line"
    yield path(((plot.x(hours), plot.y(series.cost(hours))) for hours in (0.0, YEAR_H)), style)
    label_y = plot.y(series.cost(YEAR_H)) - 7
    yield text_element(_(series.name), plot.width - RIGHT, max(label_y, TOP + 12), "tick", text_anchor="end")


def _crossing(plot: Frame, hours: float) -> Iterator[str]:
    x = plot.x(hours)
    yield line(x, TOP, x, TOP + HIGH, "new-line")
    caption = f"{both_languages('break-even')} {hours:.0f} h"
    yield label(caption, x + 6, TOP + HIGH - 8, "new-text", (LEFT, plot.width - RIGHT))
