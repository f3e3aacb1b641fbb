"""The cluster as tiles: each host with its links, GPUs and disks, coloured by what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterwright.check.report.findings import Findings, HostFound, Part
from clusterwright.check.verdict import Status
from clusterwright.drawing.svg import is_narrow, picture, tag, words

MANY = 40  # ours: as many tiles fill a screen; more hosts are drawn as small squares
TILE, HIGH, AIR = 176.0, 96.0, 10.0
SQUARE = 18.0
LINK_W, GPU_W, DISK_W = 30.0, 16.0, 22.0

WORDS = {
    Status.OK: ("as wanted", "符合预期"),
    Status.WARN: ("warning", "警告"),
    Status.FAIL: ("fails", "不合格"),
    Status.UNKNOWN: ("could not be seen", "无法检测"),
    Status.SKIPPED: ("not looked at", "未检测"),
}


def style(status: Status | None) -> str:
    """The class of a status in the page's style sheet; what was not asked looks like what was left out."""
    return f"is-{(status or Status.SKIPPED).value}"


def is_small(found: Findings) -> bool:
    """True for a cluster whose hosts are tiles with all their parts."""
    return len(found.hosts) <= MANY


def cluster(found: Findings, width: float) -> str:
    """Every host of the cluster, group after group."""
    parts, y = [], 0.0
    for group in dict.fromkeys(host.group for host in found.hosts):
        hosts = [host for host in found.hosts if host.group == group]
        parts.append(words(f"{group}, {hosts[0].role}: {len(hosts)}", 0, y + 16, "host-name"))
        drawn, y = _tiles(hosts, y + 26, width) if is_small(found) else _squares(hosts, y + 26, width)
        parts += drawn
        y += 12
    wrong = [f"{host.name} {WORDS[worst][0]}" for host in found.hosts if (worst := _bad(host))]
    told = f"{len(found.hosts)} hosts. {'; '.join(wrong) or 'Nothing is wrong'}."
    return picture((width, y), f"Cluster {found.cluster}", told, *parts)


def _bad(host: HostFound) -> Status | None:
    seen = [host.status, *(part.status for part in host.parts)]
    return next((bad for bad in (Status.FAIL, Status.UNKNOWN, Status.WARN) if bad in seen), None)


def _tiles(hosts: Sequence[HostFound], top: float, width: float) -> tuple[list[str], float]:
    in_row = max(1, int((width + AIR) // ((150.0 if is_narrow(width) else TILE) + AIR)))
    wide = (width - AIR * (in_row - 1)) / in_row
    drawn: list[str] = []
    for number, host in enumerate(hosts):
        left, y = number % in_row * (wide + AIR), top + number // in_row * (HIGH + AIR)
        drawn += _tile(host, left, y, wide)
    return drawn, top + -(-len(hosts) // in_row) * (HIGH + AIR)


def _tile(host: HostFound, left: float, top: float, wide: float) -> Iterator[str]:
    title = tag("title", f"{host.name}: {WORDS[host.status or Status.SKIPPED][0]}")
    shape = {"x": left + 1, "y": top, "width": wide - 2, "height": HIGH, "rx": 7}
    yield tag("rect", title, class_=f"tile {style(host.status)}", **shape)
    yield words(host.name, left + 10, top + 20, "host-name")
    yield words(host.address, left + 10, top + 36, "tick")
    room = wide - 20
    yield from _strip(host, host.of("network"), (left + 10, top + 44, room), (LINK_W, 8.0))
    yield from _strip(host, host.of("gpu"), (left + 10, top + 58, room), (GPU_W, 14.0))
    yield from _strip(host, host.of("disk"), (left + 10, top + 78, room), (DISK_W, 8.0))


def _strip(
    host: HostFound, parts: Sequence[Part], place: tuple[float, float, float], size: tuple[float, float]
) -> Iterator[str]:
    """Parts of one kind side by side, narrower where they would not fit."""
    left, top, room = place
    each = min(size[0] + 4, room / max(1, len(parts)))
    for number, part in enumerate(parts):
        title = tag("title", f"{host.name}, {part.name}: {WORDS[part.status or Status.SKIPPED][0]}")
        x, wide = left + number * each, max(1.0, each - 3)
        yield tag(
            "rect", title, x=x, y=top, width=wide, height=size[1], rx=2, class_=f"part {style(part.status)}"
        )


def _squares(hosts: Sequence[HostFound], top: float, width: float) -> tuple[list[str], float]:
    """One square a host, by the worst of all that was said of it."""
    in_row = max(1, int(width // SQUARE))
    drawn = []
    for number, host in enumerate(hosts):
        worst = _bad(host) or host.status
        title = tag("title", f"{host.name}: {WORDS[worst or Status.SKIPPED][0]}")
        x, y = number % in_row * SQUARE, top + number // in_row * SQUARE
        side = SQUARE - 3
        drawn.append(
            tag("rect", title, x=x, y=y, width=side, height=side, rx=3, class_=f"part {style(worst)}")
        )
    return drawn, top + -(-len(hosts) // in_row) * SQUARE
