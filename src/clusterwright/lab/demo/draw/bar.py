"""Draw where the recovery's seconds went, as one bar."""

from __future__ import annotations

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
from clusterwright.i18n import N_, _
from clusterwright.lab.demo.event_metrics import Recovery, RecoveryPart

ORDER = (
    N_("detection"), N_("new generation"), N_("launch"), N_("import"), N_("rendezvous"), N_("load checkpoint"),
    N_("first step"), N_("catching up"),
)  # fmt: skip
TOP, THICK, LETTER = 6.0, 40.0, 9.0  # LETTER: a bold digit of the labels and margin, measured on the page


def color_class(name: str) -> str:
    """Return the style class of a part of the recovery by its name."""
    return f"part-{ORDER.index(name)}"


def bar(recovery: Recovery, width: float) -> str:
    """Return an SVG image of one bar from the fault to new progress, whose parts are as long as they took."""
    x = scale(0, recovery.seconds, 1, width - 1)
    start, drawn = 0.0, []
    for part in recovery.parts:
        drawn += _part(part, x(start), x(start + part.seconds))
        start += part.seconds
    description = ", ".join(f"{part.name} {part.seconds:.1f} s" for part in recovery.parts)
    title = _("Recovery in {seconds:.1f} seconds", seconds=recovery.seconds)
    return svg_image(
        (width, TOP + THICK + 28), title, description, *drawn, *_seconds(x, recovery.seconds, width)
    )


def _part(part: RecoveryPart, start: float, end: float) -> list[str]:
    title = tag("title", f"{part.name}: {part.seconds:.2f} s")
    wide = max(end - start - 1, 0.4)
    drawn = [tag("rect", title, x=start, y=TOP, width=wide, height=THICK, class_=color_class(part.name))]
    label = f"{part.seconds:.1f}"
    if wide > LETTER * len(label):
        style = f"on-part on-{color_class(part.name)}"
        drawn.append(text_element(label, start + wide / 2, TOP + THICK / 2 + 5, style, text_anchor="middle"))
    return drawn


def _seconds(x: Scale, seconds: float, width: float) -> list[str]:
    drawn = []
    for value in ticks(0, seconds, 4 if is_narrow(width) else 8):
        anchor = "start" if value == 0 else "end" if x(value) > width - LETTER else "middle"
        drawn.append(line(x(value), TOP + THICK, x(value), TOP + THICK + 5, "axis-line"))
        drawn.append(
            text_element(f"{short(value)} s", x(value), TOP + THICK + 20, "tick", text_anchor=anchor)
        )
    return drawn
