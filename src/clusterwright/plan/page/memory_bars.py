"""Memory of one GPU as a stacked bar per pipeline stage, against its limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from clusterwright.drawing.svg import Scale, is_narrow, line, picture, scale, short, tag, ticks, words
from clusterwright.plan.page.sheet import MEMORY, SAID, both_languages
from clusterwright.plan.prediction import Memory
from clusterwright.units import GiB

THICK, AIR, TOP, BOTTOM, LABEL = 30.0, 12.0, 22.0, 44.0, 74.0  # in the drawing's own units


def memory_bars(stages: Sequence[tuple[str, Memory]], limit_bytes: float, width: float) -> str:
    """One bar per (name, memory); parts in the order of Memory's fields, the limit as a red line."""
    most = max([limit_bytes, *(float(held.total) for _, held in stages)]) * 1.04
    x = scale(0, most, LABEL, width - 6)
    bottom = TOP + len(stages) * (THICK + AIR)
    drawn = [
        *_axis(x, most, bottom, width),
        *(piece for row, (name, held) in enumerate(stages) for piece in _bar(x, name, held, row)),
        line(x(limit_bytes), TOP - 6, x(limit_bytes), bottom, "fault-line"),
        words(
            f"{both_languages(SAID['limit'])} {limit_bytes / GiB:.1f} GiB",
            x(limit_bytes) - 5,
            TOP - 9,
            "fault-text",
            text_anchor="end",
        ),
    ]
    told = "; ".join(f"{name}: {float(held.total) / GiB:.1f} GiB" for name, held in stages)
    return picture((width, bottom + BOTTOM), SAID["memory"][0], told, *drawn)


def colour(part: str) -> str:
    """The style class of a part of memory."""
    return f"part-{list(MEMORY).index(part)}"


def _bar(x: Scale, name: str, held: Memory, row: int) -> Iterator[str]:
    top, start = TOP + row * (THICK + AIR), 0.0
    yield words(name, 2, top + THICK / 2 + 5, "host-name")
    for part in fields(held):
        value = float(getattr(held, part.name))
        wide = x(start + value) - x(start)
        title = tag("title", f"{both_languages(MEMORY[part.name])}: {value / GiB:.2f} GiB")
        if value > 0:
            style = colour(part.name)
            yield tag("rect", title, x=x(start), y=top, width=max(wide - 1, 0.4), height=THICK, class_=style)
            label = f"{value / GiB:.1f}"
            if wide > 9.0 * len(label):
                style = f"on-part on-{style}"
                yield words(label, x(start) + wide / 2, top + THICK / 2 + 5, style, text_anchor="middle")
        start += value


def _axis(x: Scale, most: float, bottom: float, width: float) -> Iterator[str]:
    for value in ticks(0, most / GiB, 4 if is_narrow(width) else 9):
        place = x(value * GiB)
        yield line(place, TOP - 4, place, bottom, "grid")
        yield words(short(value), place, bottom + 16, "tick", text_anchor="middle")
    yield words(both_languages(SAID["GiB per GPU"]), width - 6, bottom + 34, "axis", text_anchor="end")
