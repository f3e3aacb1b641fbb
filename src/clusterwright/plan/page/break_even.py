"""What a year costs, owned and rented, by the hours it is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusterwright.drawing.svg import label, line, path, picture, words
from clusterwright.plan.page.chart import HIGH, LEFT, RIGHT, TOP, Frame, axes, frame
from clusterwright.plan.page.words import SAID, both_languages

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
