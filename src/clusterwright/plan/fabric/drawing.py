"""SVG drawing of a fabric: levels of switches above each other, with gaps for those that do not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.drawing.svg import svg_image, tag, text_element
from clusterwright.i18n import N_, _, bilingual, both_languages
from clusterwright.plan.fabric.cables import links
from clusterwright.plan.fabric.parts import FabricKind

if TYPE_CHECKING:
    from clusterwright.plan.fabric.parts import Fabric

FABRIC_LABELS = {
    "node": N_("node"),
    "leaf": N_("leaf"),
    "spine": N_("spine"),
    "core": N_("core"),
    "cables": N_("cables"),
    "nodes": N_("nodes"),
    "ports": N_("ports"),
    "planes": N_("identical planes"),
    "star": N_("star"),
    "ring": N_("ring"),
    "direct": N_("direct"),
    "leaf-spine": N_("leaf-spine"),
    "fat-tree": N_("fat tree"),
    "rail-optimized": N_("rail-optimized"),
    "rail-only": N_("separate rails"),
}
MOST = 10  # boxes in a row; a longer row shows the first ones, a gap with the number of others, and the last
BOX_W, BOX_H, PITCH, TOP, LEFT = 62.0, 26.0, 104.0, 34.0, 12.0
RING_MOST = 16

STYLE = (
    ".fab-box{fill:var(--card,#fff);stroke:var(--train,#1f6a8c);stroke-width:1.4}"
    ".fab-node{fill:var(--panel,#f1f5f2);stroke:var(--soft,#56616b);stroke-width:1.2}"
    ".fab-link{stroke:var(--soft,#56616b);stroke-width:.7;opacity:.55}"
    ".fab-name{fill:var(--ink,#1b2127);font-size:11px}"
    ".fab-said{fill:var(--soft,#56616b);font-size:12px}"
    ".fab-title{fill:var(--ink,#1b2127);font-size:14px;font-weight:700}"
)
STANDALONE_STYLE = (
    "svg{font-family:system-ui,sans-serif;background:var(--card)}"
    ":root{--card:#fff;--ink:#1b2127;--soft:#56616b;--train:#1f6a8c;--panel:#f1f5f2}"
    "@media(prefers-color-scheme:dark)"
    "{:root{--card:#1b2126;--ink:#e9e7e2;--soft:#a3adb6;--train:#58acd0;--panel:#1d2623}}"
)


@dataclass(frozen=True, slots=True)
class _Row:
    """One level: positions of the members that are drawn, and of the gap for the others."""

    name: str
    count: int
    y: float
    spots: dict[int, float]  # index of a member -> x of the middle of its box
    gap: float | None


def svg(fabric: Fabric, language: str = "en", width: float = 900.0, *, standalone: bool = False) -> str:
    """Draw a fabric as SVG with labels in `language` (en, zh or both); `standalone` includes the color variables."""
    drawn = _ring(fabric, language, width) if fabric.clos is None else _levels(fabric, language, width)
    height, parts = drawn
    sizes = (
        f"{fabric.nodes} {_label('nodes', language)} x {fabric.ports_per_node} {_label('ports', language)}"
    )
    title = f"{_label(fabric.kind, language)}: {sizes}"
    style = tag("style", STYLE + (STANDALONE_STYLE if standalone else ""))
    head = text_element(title + _planes(fabric, language), LEFT, 20, "fab-title")
    return svg_image((width, height), title, _description(fabric), style, head, *parts)


def _label(name: str, language: str) -> str:
    label = FABRIC_LABELS[name]
    english, chinese = bilingual(label)
    return {"en": english, "zh": chinese}.get(language, both_languages(label))


def _planes(fabric: Fabric, language: str) -> str:
    return f", {fabric.planes} {_label('planes', language)}" if fabric.planes > 1 else ""


def _description(fabric: Fabric) -> str:
    """Return the text alternative of a fabric's drawing for screen readers."""
    switches = ", ".join(f"{level.count} {_(FABRIC_LABELS[level.name])}" for level in fabric.levels) or "0"
    return _(
        "{nodes} nodes with {ports} ports each, switches: {switches}, {cables} cables",
        nodes=fabric.nodes,
        ports=fabric.ports_per_node,
        switches=switches,
        cables=fabric.cables,
    )


def _levels(fabric: Fabric, language: str, width: float) -> tuple[float, Sequence[str]]:
    counts = [("node", fabric.nodes)]
    counts += [(level.name, level.count // fabric.planes) for level in fabric.levels]
    rows = [
        _row(name, count, TOP + PITCH * (len(counts) - 1 - index), width)
        for index, (name, count) in enumerate(counts)
    ]
    parts = [*_links(fabric, rows)]
    for row in rows:
        parts += _boxes(row, language)
    for index, level in enumerate(fabric.levels):
        y = rows[index].y - (PITCH - BOX_H) / 2 + 4
        text = f"{level.cables_down} {_label('cables', language)}"
        parts.append(text_element(text, width - LEFT, y, "fab-said", text_anchor="end"))
    return rows[0].y + BOX_H + 14, parts


def _row(name: str, count: int, y: float, width: float) -> _Row:
    row_width = width - 2 * LEFT - 90  # less the text at the right
    most = max(3, min(MOST, int(row_width // (BOX_W + 8))))
    members = list(range(count)) if count <= most else [*range(most - 2), count - 1]
    slots = min(count, most)
    step = row_width / slots
    middle = [LEFT + step * (slot + 0.5) for slot in range(slots)]
    spots = {member: middle[min(index, slots - 1)] for index, member in enumerate(members)}
    if count > most:
        spots[count - 1] = middle[-1]
    return _Row(name, count, y, spots, middle[-2] if count > most else None)


def _boxes(row: _Row, language: str) -> Iterator[str]:
    sort = "fab-node" if row.name == "node" else "fab-box"
    for member, x in row.spots.items():
        yield tag("rect", x=x - BOX_W / 2, y=row.y, width=BOX_W, height=BOX_H, rx=4, class_=sort)
        name = f"{_label(row.name, 'en' if language == 'both' else language)} {member + 1}"
        yield text_element(name, x, row.y + BOX_H / 2 + 4, "fab-name", text_anchor="middle")
    if row.gap is not None:
        hidden = row.count - len(row.spots)
        yield text_element(f"… x{hidden}", row.gap, row.y + BOX_H / 2 + 5, "fab-said", text_anchor="middle")


def _links(fabric: Fabric, rows: list[_Row]) -> Iterator[str]:
    by_name = {row.name: row for row in rows}
    for link in links(fabric):
        lower, upper = _spot(link.lower, by_name), _spot(link.upper, by_name)
        if lower and upper:
            yield tag(
                "line",
                x1=lower[0],
                y1=lower[1],
                x2=upper[0],
                y2=upper[1] + BOX_H,
                class_="fab-link",
                style=f"stroke-width:{min(3.0, 0.5 + 0.25 * link.cables):g}",
            )


def _spot(name: str, rows: dict[str, _Row]) -> tuple[float, float] | None:
    kind = name.rstrip("0123456789")
    row = rows.get(kind)
    member = int(name.removeprefix(kind) or 0) - 1
    return (row.spots[member], row.y) if row and member in row.spots else None


def _ring(fabric: Fabric, language: str, width: float) -> tuple[float, Sequence[str]]:
    """Draw the nodes on a circle, or side by side if there are two; return the height and the SVG elements.

    At most 16 boxes are drawn, of which the last stands for all nodes that remain.
    """
    node_count = min(fabric.nodes, RING_MOST)
    radius = 0.0 if fabric.kind is FabricKind.DIRECT else 40 + 10.0 * node_count
    middle_y = TOP + radius + BOX_H
    spots = []
    for node in range(node_count):
        turn = 2 * math.pi * node / node_count
        radius_x = 130.0 if fabric.kind is FabricKind.DIRECT else radius
        spots.append((width / 2 - radius_x * math.cos(turn) * 1.4, middle_y - radius * math.sin(turn)))
    parts = [
        tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_="fab-link", style="stroke-width:2")
        for start, end in zip(spots, [*spots[1:], spots[0]], strict=True)
    ]
    for node, (x, y) in enumerate(spots):
        last = node == node_count - 1 and fabric.nodes > node_count
        name = f"… x{fabric.nodes - node_count + 1}" if last else f"{_label('node', 'en')} {node + 1}"
        parts.append(
            tag("rect", x=x - BOX_W / 2, y=y - BOX_H / 2, width=BOX_W, height=BOX_H, rx=4, class_="fab-node")
        )
        parts.append(text_element(name, x, y + 4, "fab-name", text_anchor="middle"))
    caption = f"{fabric.cables} {_label('cables', language)}"
    parts.append(text_element(caption, width - LEFT, middle_y + 4, "fab-said", text_anchor="end"))
    return middle_y + radius + BOX_H + 6, parts
