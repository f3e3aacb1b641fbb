"""Draws docs/accuracy.svg: each held-out prediction over its measurement, against the measurement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from bench.accuracy.scores import Off

WIDE, HIGH = 960, 540
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 46, 500
FEWEST, MOST = 0.1, 600.0  # seconds
LOW, UP = 0.4, 2.5  # predicted over measured; values beyond are drawn at the edge
COLOURS = {
    "V100": "#8a8a8a", "A100": "#2f6fb0", "H100": "#3a9a5b", "H200": "#7bb661", "B200": "#c98a1b",
    "GB200": "#c0504d", "B300": "#8e5ea2", "GB300": "#d16ba5", "other": "#555555",
}  # fmt: skip
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.t{font-size:16px;font-weight:600}"
    ".g{stroke:#ddd;stroke-width:1}.one{stroke:#333;stroke-width:1.2}.band{fill:#3a9a5b;opacity:.1}"
    "circle{opacity:.6}@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}.one{stroke:#ccc}}"
)


def plot(rows: Sequence[Off], gpus: Sequence[str]) -> str:
    """Return the SVG of all predictions; `gpus` has each row's GPU."""
    families = [_family(name) for name in gpus]
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-labelledby="t">',
        f"<style>{STYLE}</style>",
        '<title id="t">Predicted over measured seconds of an iteration, its source left out of the fit</title>',
        f'<text class="t" x="{LEFT}" y="20">Predicted over measured time, each source left out of the fit</text>',
        *_axes(),
        *(_dot(each, family) for each, family in zip(rows, families, strict=True)),
        *_legend(families),
        "</svg>",
    ]
    return "\n".join(drawn) + "\n"


def _family(name: str) -> str:
    upper = name.upper()
    return next((family for family in sorted(COLOURS, key=len, reverse=True) if family in upper), "other")


def across(seconds: float) -> float:
    """Return the x coordinate of seconds, on a log scale."""
    share = math.log(max(FEWEST, min(seconds, MOST)) / FEWEST) / math.log(MOST / FEWEST)
    return round(LEFT + share * (WIDE - LEFT - RIGHT), 1)


def up(ratio: float) -> float:
    """Return the y coordinate of predicted / measured, on a log scale."""
    share = math.log(max(LOW, min(ratio, UP)) / LOW) / math.log(UP / LOW)
    return round(BOTTOM - share * (BOTTOM - TOP), 1)


def _axes() -> Iterator[str]:
    top, bottom = up(1.1), up(0.9)
    yield f'<rect class="band" x="{LEFT}" y="{top}" width="{WIDE - LEFT - RIGHT}" height="{bottom - top:.1f}"/>'
    for ratio in (0.5, 0.7, 0.9, 1.0, 1.1, 1.4, 2.0):
        style = "one" if ratio == 1.0 else "g"
        yield f'<line class="{style}" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{up(ratio)}" y2="{up(ratio)}"/>'
        yield f'<text x="{LEFT - 8}" y="{up(ratio) + 4}" text-anchor="end">{ratio:g}</text>'
    for seconds in (0.1, 0.3, 1, 3, 10, 30, 100, 300):
        yield f'<line class="g" x1="{across(seconds)}" x2="{across(seconds)}" y1="{TOP}" y2="{BOTTOM}"/>'
        yield f'<text x="{across(seconds)}" y="{BOTTOM + 18}" text-anchor="middle">{seconds:g} s</text>'
    yield f'<text x="{(LEFT + WIDE - RIGHT) / 2}" y="{HIGH - 4}" text-anchor="middle">measured</text>'


def _dot(each: Off, family: str) -> str:
    told = escape(
        f"{each.source}: {each.label}: {each.measured:.3g} s measured, {each.predicted:.3g} s predicted"
    )
    place = f'cx="{across(each.measured)}" cy="{up(each.predicted / each.measured)}"'
    return f'<circle {place} r="3.2" fill="{COLOURS[family]}"><title>{told}</title></circle>'


def _legend(families: Sequence[str]) -> Iterator[str]:
    x = LEFT
    for family in (name for name in COLOURS if name in families):
        yield f'<circle cx="{x + 5}" cy="34" r="5" fill="{COLOURS[family]}"/>'
        yield f'<text x="{x + 14}" y="38">{family} ({families.count(family)})</text>'
        x += 98
