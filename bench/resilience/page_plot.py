"""Draws docs/endure.svg: seconds from a fault to the first new step, each trial a dot, for all systems."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from bench.resilience.page_groups import Group, RawLines, label, short

WIDE, LEFT, RIGHT, TOP = 960, 250, 76, 50
ROW, GAP = 19, 30
LEAST, MOST = 0.1, 60.0  # seconds; trials without recovery are at the right edge
OURS, OTHERS, LOST = "#2f6fb0", "#8a8a8a", "#c0504d"
SHOWN = {
    "kill": "one rank killed",
    "hang": "one rank hangs",
    "hosts": "one host lost",
    "handoff": "handoff by Slurm",
}
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.t{font-size:16px;font-weight:600}.c{font-weight:600}"
    ".g{stroke:#ddd;stroke-width:1}circle{opacity:.55}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.g{stroke:#444}}"
)


def plot(raw_lines: RawLines) -> str:
    """Return the SVG of all trials."""
    blocks = list(_blocks(raw_lines))
    bottom = TOP + sum(GAP + ROW * len(rows) for _, rows in blocks)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {bottom + 40}" role="img" aria-labelledby="t">',
        f"<style>{STYLE}</style>",
        '<title id="t">Seconds from a fault to the first new step, ours and others</title>',
        '<text class="t" x="16" y="22">Seconds from a fault to the first new step; a line marks the median</text>',
        *_axis(bottom),
    ]
    y = TOP
    for name, rows in blocks:
        drawn.append(f'<text class="c" x="16" y="{y + 18}">{escape(name)}</text>')
        y += GAP
        for group in rows:
            drawn += _row(group, y)
            y += ROW
    return "\n".join([*drawn, "</svg>"]) + "\n"


def across(seconds: float) -> float:
    """Return the x coordinate of a time on a log scale."""
    share = math.log(max(LEAST, min(seconds, MOST)) / LEAST) / math.log(MOST / LEAST)
    return round(LEFT + share * (WIDE - LEFT - RIGHT), 1)


def _blocks(raw_lines: RawLines) -> Iterator[tuple[str, list[Group]]]:
    """Yield title and groups of each experiment and case with times or lost trials."""
    for experiment, name in SHOWN.items():
        groups = [each for each in raw_lines.of(experiment).groups() if each.seconds() or _gone(each)]
        for case in dict.fromkeys(each.case for each in groups):
            mine = [each for each in groups if each.case == case]
            yield (name if case == "rank" else f"{name}: {case}"), mine


def _gone(group: Group) -> int:
    """Return the number of trials without recovery."""
    return sum(each["outcome"] in {"lost", "hung"} for each in group.lines)


def _row(group: Group, y: int) -> Iterator[str]:
    color, middle = OURS if group.ours else OTHERS, y + 5
    yield f'<text x="{LEFT - 10}" y="{y + 9}" text-anchor="end">{escape(group.system)}</text>'
    for each in group.good():
        if "total" in each["seconds"]:
            yield _dot(each, color, middle)
    median = group.seconds()
    if median:
        x = across(median.median)
        yield f'<line x1="{x}" x2="{x}" y1="{y - 2}" y2="{y + 12}" stroke="{color}" stroke-width="2.5"/>'
    if gone := _gone(group):
        edge = WIDE - RIGHT + 8
        yield f'<text x="{edge}" y="{y + 9}" style="fill:{LOST}">{gone} lost</text>'


def _dot(line: dict[str, object], color: str, y: int) -> str:
    seconds = line["seconds"]["total"]  # type: ignore[index]  # (lines are plain JSON)
    told = escape(f"{label(line)}, trial {line['seed']}: {short(seconds)} s")
    return f'<circle cx="{across(seconds)}" cy="{y}" r="3.4" fill="{color}"><title>{told}</title></circle>'


def _axis(bottom: int) -> Iterator[str]:
    for seconds in (0.1, 0.3, 1, 3, 10, 30, 60):
        x = across(seconds)
        yield f'<line class="g" x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{bottom + 8}"/>'
        yield f'<text x="{x}" y="{bottom + 26}" text-anchor="middle">{seconds:g} s</text>'
