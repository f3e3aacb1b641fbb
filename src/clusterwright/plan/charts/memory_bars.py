"""Chart of GPU memory: one stacked bar per pipeline stage, with the usable memory as limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from clusterwright.plan.charts.sheet import MEMORY
from clusterwright.plan.prediction import Memory
from clusterwright.units import GiB

THICK, AIR, TOP, BOTTOM, LABEL = 30.0, 12.0, 22.0, 44.0, 74.0  # in units of the drawing


def memory_bars(stages: Sequence[tuple[str, Memory]], limit_bytes: float, width: float) -> str:
    """Draw one stacked bar per (name, memory), parts in the order of Memory's fields, and the limit as a red line."""
    most = max([limit_bytes, *(float(memory.total) for _, memory in stages)]) * 1.04
    x = scale(0, most, LABEL, width - 6)
    bottom = TOP + len(stages) * (THICK + AIR)
    drawn = [
        *_axis(x, most, bottom, width),
        *(piece for row, (name, memory) in enumerate(stages) for piece in _bar(x, name, memory, row)),
        line(x(limit_bytes), TOP - 6, x(limit_bytes), bottom, "fault-line"),
        text_element(
            f"{both_languages('usable memory')} {limit_bytes / GiB:.1f} GiB",
            x(limit_bytes) - 5,
            TOP - 9,
            "fault-text",
            text_anchor="end",
        ),
    ]
    description = "; ".join(f"{name}: {float(memory.total) / GiB:.1f} GiB" for name, memory in stages)
    return svg_image((width, bottom + BOTTOM), _("Memory of one GPU, by pipeline stage"), description, *drawn)


def color(part: str) -> str:
    """Return the CSS class (`part-N`) of the field of `Memory` with this name."""
    return f"part-{list(MEMORY).index(part)}"


def _bar(x: Scale, name: str, memory: Memory, row: int) -> Iterator[str]:
    top, start = TOP + row * (THICK + AIR), 0.0
    yield text_element(name, 2, top + THICK / 2 + 5, "host-name")
    for part in fields(memory):
        value = float(getattr(memory, part.name))
        wide = x(start + value) - x(start)
        title = tag("title", f"{both_languages(MEMORY[part.name])}: {value / GiB:.2f} GiB")
        if value > 0:
            style = color(part.name)
            yield tag("rect", title, x=x(start), y=top, width=max(wide - 1, 0.4), height=THICK, class_=style)
            label = f"{value / GiB:.1f}"
            if wide > 9.0 * len(label):
                style = f"on-part on-{style}"
                yield text_element(
                    label, x(start) + wide / 2, top + THICK / 2 + 5, style, text_anchor="middle"
                )
        start += value


def _axis(x: Scale, most: float, bottom: float, width: float) -> Iterator[str]:
    for value in ticks(0, most / GiB, 4 if is_narrow(width) else 9):
        tick_x = x(value * GiB)
        yield line(tick_x, TOP - 4, tick_x, bottom, "grid")
        yield text_element(short(value), tick_x, bottom + 16, "tick", text_anchor="middle")
    yield text_element(both_languages("GiB per GPU"), width - 6, bottom + 34, "axis", text_anchor="end")
