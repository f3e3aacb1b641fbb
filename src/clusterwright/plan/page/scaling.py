"""Throughput against GPUs, with the line it would follow if nothing were lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.drawing.svg import line, path, picture, tag, words
from clusterwright.plan.page.chart import LEFT, TOP, Frame, axes, frame
from clusterwright.plan.page.words import SAID, both_languages


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
