"""The frame that the planner's curves and clouds are drawn in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.drawing.svg import Scale, is_narrow, line, scale, short, ticks, words

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
