"""Layouts as a cloud: time of an iteration against memory, the best one named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.drawing.svg import label, line, picture, tag, words
from clusterwright.plan.page.chart import HIGH, LEFT, RIGHT, TOP, Frame, axes, frame
from clusterwright.plan.page.words import SAID, both_languages
from clusterwright.units import GiB

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


def families(dots: Sequence[Dot]) -> list[str]:
    """Names of the families, in the order of their colours."""
    return sorted({dot.family for dot in dots})


def _dot(made: Frame, dot: Dot, top: float, most: float) -> str:
    title = tag("title", f"{dot.name}: {dot.seconds:.4g} s, {dot.memory_bytes / GiB:.1f} GiB")
    x, y = made.x(min(dot.memory_bytes, most) / GiB), made.y(min(dot.seconds, top))
    return tag("circle", title, cx=x, cy=y, r=3, class_=f"dot-of {dot.family}".strip())


def _best(made: Frame, best: Dot) -> Iterator[str]:
    x, y = made.x(best.memory_bytes / GiB), made.y(best.seconds)
    yield tag("circle", cx=x, cy=y, r=7, class_="best-ring")
    name = f"{both_languages(SAID['best'])}: {best.name}"
    yield label(name, x + 12, y + 18, "new-text", (LEFT, made.width - RIGHT))
