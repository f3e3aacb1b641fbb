"""The cluster as SVG tiles: each host with its links, GPUs and disks, colored by status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.report.findings import Findings, HostFindings, HostPart
from clusterwright.check.verdict import Status
from clusterwright.drawing.svg import is_narrow, svg_image, tag, text_element
from clusterwright.i18n import N_, _, _n

MAX_TILES = 40  # ours: as many tiles fill a screen; larger clusters are drawn as small squares
TILE, HIGH, AIR = 176.0, 96.0, 10.0
SQUARE = 18.0
LINK_W, GPU_W, DISK_W = 30.0, 16.0, 22.0

STATUS_LABELS = {
    Status.OK: N_("ok"),
    Status.WARN: N_("warning"),
    Status.FAIL: N_("failed"),
    Status.UNKNOWN: N_("unknown"),
    Status.SKIPPED: N_("not checked"),
}


def style(status: Status | None) -> str:
    """Return the CSS class of a status; None (no verdict) is drawn like `skipped`."""
    return f"is-{(status or Status.SKIPPED).value}"


def is_small(findings: Findings) -> bool:
    """True for a cluster of at most 40 hosts, which is drawn with a tile and its parts for each host."""
    return len(findings.hosts) <= MAX_TILES


def cluster(findings: Findings, width: float) -> str:
    """Return an SVG image of all hosts, group by group, each in the color of its worst verdict.

    Few hosts are drawn as tiles, many as squares.
    """
    parts, y = [], 0.0
    for group in dict.fromkeys(host.group for host in findings.hosts):
        hosts = [host for host in findings.hosts if host.group == group]
        parts.append(text_element(f"{group}, {hosts[0].role}: {len(hosts)}", 0, y + 16, "host-name"))
        drawn, y = _tiles(hosts, y + 26, width) if is_small(findings) else _squares(hosts, y + 26, width)
        parts += drawn
        y += 12
    wrong = [f"{host.name} {_(STATUS_LABELS[worst])}" for host in findings.hosts if (worst := _bad(host))]
    count = _n("{count} host", "{count} hosts", len(findings.hosts))
    description = f"{count}: {'; '.join(wrong) or _('no problems')}"
    return svg_image((width, y), _("Cluster {cluster}", cluster=findings.cluster), description, *parts)


def _bad(host: HostFindings) -> Status | None:
    statuses = [host.status, *(part.status for part in host.parts)]
    return next((bad for bad in (Status.FAIL, Status.UNKNOWN, Status.WARN) if bad in statuses), None)


def _tiles(hosts: Sequence[HostFindings], top: float, width: float) -> tuple[list[str], float]:
    in_row = max(1, int((width + AIR) // ((150.0 if is_narrow(width) else TILE) + AIR)))
    wide = (width - AIR * (in_row - 1)) / in_row
    drawn: list[str] = []
    for number, host in enumerate(hosts):
        x, y = number % in_row * (wide + AIR), top + number // in_row * (HIGH + AIR)
        drawn += _tile(host, x, y, wide)
    return drawn, top + -(-len(hosts) // in_row) * (HIGH + AIR)


def _tile(host: HostFindings, x: float, top: float, wide: float) -> Iterator[str]:
    title = tag("title", f"{host.name}: {_(STATUS_LABELS[host.status or Status.SKIPPED])}")
    shape = {"x": x + 1, "y": top, "width": wide - 2, "height": HIGH, "rx": 7}
    yield tag("rect", title, class_=f"tile {style(host.status)}", **shape)
    yield text_element(host.name, x + 10, top + 20, "host-name")
    yield text_element(host.address, x + 10, top + 36, "tick")
    strip_width = wide - 20
    yield from _strip(host, host.parts_by_kind("network"), (x + 10, top + 44, strip_width), (LINK_W, 8.0))
    yield from _strip(host, host.parts_by_kind("gpu"), (x + 10, top + 58, strip_width), (GPU_W, 14.0))
    yield from _strip(host, host.parts_by_kind("disk"), (x + 10, top + 78, strip_width), (DISK_W, 8.0))


def _strip(
    host: HostFindings, parts: Sequence[HostPart], area: tuple[float, float, float], size: tuple[float, float]
) -> Iterator[str]:
    """Draw parts of one kind side by side, narrower where they would not fit.

    `area`: left edge, top and width of the strip; `size`: width and height of a part.
    """
    start_x, top, strip_width = area
    step = min(size[0] + 4, strip_width / max(1, len(parts)))
    for number, part in enumerate(parts):
        title = tag("title", f"{host.name}, {part.name}: {_(STATUS_LABELS[part.status or Status.SKIPPED])}")
        x, wide = start_x + number * step, max(1.0, step - 3)
        yield tag(
            "rect", title, x=x, y=top, width=wide, height=size[1], rx=2, class_=f"part {style(part.status)}"
        )


def _squares(hosts: Sequence[HostFindings], top: float, width: float) -> tuple[list[str], float]:
    """Draw one square per host, in the color of its worst verdict; return the SVG elements and the y below them.

    `top` is the y of the first row.
    """
    in_row = max(1, int(width // SQUARE))
    drawn = []
    for number, host in enumerate(hosts):
        worst = _bad(host) or host.status
        title = tag("title", f"{host.name}: {_(STATUS_LABELS[worst or Status.SKIPPED])}")
        x, y = number % in_row * SQUARE, top + number // in_row * SQUARE
        side = SQUARE - 3
        drawn.append(
            tag("rect", title, x=x, y=y, width=side, height=side, rx=3, class_=f"part {style(worst)}")
        )
    return drawn, top + -(-len(hosts) // in_row) * SQUARE
