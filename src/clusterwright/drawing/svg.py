"""Build SVG as text: elements, scales and round ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from html import escape

Scale = Callable[[float], float]
BOLD = 7.6  # width of a bold letter at font size 13, measured in the page's fonts
NARROW = 500.0  # a narrower drawing is for a phone: fewer ticks, shorter texts


def tag(name: str, *children: str, **attributes: object) -> str:
    """Return the text of one SVG or HTML element; text of children is not escaped, values of attributes are.

    `class_` is class, `_` in a name becomes a dash, and an attribute of None is omitted.
    """
    rendered = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_format_value(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{rendered}>{''.join(children)}</{name}>" if children else f"<{name}{rendered}/>"


def text_element(content: str, x: float, y: float, class_: str = "", **attributes: object) -> str:
    """Return an SVG text element with escaped content at a point."""
    return tag("text", escape(content), x=x, y=y, class_=class_ or None, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return an SVG element for a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def path(points: Iterable[tuple[float, float]], class_: str) -> str:
    """Return an SVG path element with straight lines through the points, of the CSS class; empty without points."""
    steps = [f"{_format_value(x)} {_format_value(y)}" for x, y in points]
    return tag("path", d="M" + "L".join(steps), class_=class_) if steps else ""


def svg_image(size: tuple[float, float], title: str, description: str, *children: str) -> str:
    """Return a complete SVG image with title and description for screen readers; it fills the available width."""
    width, height = size
    return tag(
        "svg",
        tag("title", escape(title)),
        tag("desc", escape(description)),
        *children,
        viewBox=f"0 0 {_format_value(width)} {_format_value(height)}",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
        aria_label=f"{title}. {description}",
    )


def scale(low: float, high: float, start: float, end: float) -> Scale:
    """Return a function that maps values linearly from low..high to start..end."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def ticks(low: float, high: float, about: int) -> list[float]:
    """Return round values (steps of 1, 2, 5 or 10) between low and high, at most about `about` many.

    Only `low` if the range is empty.
    """
    if high <= low:
        return [low]
    rough = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    start = math.ceil(low / step - 1e-9)
    return [number * step for number in range(start, math.floor(high / step + 1e-9) + 1)]


def is_narrow(width: float) -> bool:
    """Return True for the width of a drawing on a phone."""
    return width < NARROW


def label(text: str, x: float, y: float, class_: str, bounds: tuple[float, float]) -> str:
    """Return an SVG text beside a vertical line at x: right of it, or left where it would exceed the upper bound.

    Left of it, it begins at the lower bound at the earliest.
    """
    wide = BOLD * len(text)
    if x + wide <= bounds[1]:
        return text_element(text, x, y, class_)
    return text_element(text, max(x, bounds[0] + wide), y, class_, text_anchor="end")


def short(value: float) -> str:
    """Return a number as text for an axis, with no more digits than needed (at most six)."""
    return f"{value:.6g}"


def _format_value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
