"""The cluster: its networks as rails, its hosts hung on them, and what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from clusterwright.drawing.svg import is_narrow, line, picture, tag, words
from clusterwright.lab.demo.report import DrawnCluster, DrawnHost, Report

Fate = Literal["control", "trained", "lost", "took over", "held ready", "not asked"]
SAID: dict[Fate, tuple[str, str]] = {
    "control": ("runs Slurm's controller", "控制节点"),
    "trained": ("trained to the end", "训练到最后"),
    "lost": ("killed", "被断电"),
    "took over": ("took over", "接替"),
    "held ready": ("held ready", "备用"),
    "not asked": ("not in the job", "未参与"),
}
RAIL, HOST, CONTROL, AIR, WIDEST = 26.0, 118.0, 66.0, 14.0, 260.0  # in the drawing's own units
FIRST_DROP, NEXT_DROP = 14.0, 12.0  # where a host's lines to its networks leave it


@dataclass(frozen=True, slots=True)
class Box:
    """Where a host is drawn."""

    host: DrawnHost
    left: float
    top: float
    wide: float
    high: float


def cluster(made: Report, width: float) -> str:
    """Control above, networks in the middle, compute hosts beneath; or the one machine with its ranks."""
    if made.cluster is None:
        return _machine(made, width)
    drawn = made.cluster
    rails = {network.name: CONTROL + 34 + number * RAIL for number, network in enumerate(drawn.networks)}
    boxes = (*_above(drawn, width), *_beneath(drawn, width, max(rails.values()) + 30))
    parts = [
        *_rails(drawn, rails, width),
        *(piece for box in boxes for piece in _drops(box, rails)),
        *(piece for box in boxes for piece in _host(made, box)),
        *_takeover(made, boxes),
    ]
    size = (width, max(box.top + box.high for box in boxes) + 38)
    return picture(size, f"Cluster {drawn.name}", _told(made, drawn), *parts)


def fate(made: Report, host: str, role: str = "compute") -> Fate:
    """What became of a host, from the rows of the time line."""
    if role == "control":
        return "control"
    if made.fault and host == made.fault["host"]:
        return "lost"
    spans = next((lane.spans for lane in made.lanes if lane.place == host), ())
    trained = [span.start for span in spans if span.doing == "training"]
    if not trained:
        return "held ready" if spans else "not asked"
    return "took over" if made.fault and min(trained) > made.fault["at_s"] else "trained"


def _above(drawn: DrawnCluster, width: float) -> tuple[Box, ...]:
    """Hosts that do not compute, in the middle of the top."""
    hosts = [host for host in drawn.hosts if host.role != "compute"]
    wide = min(WIDEST, (width - AIR * (len(hosts) - 1)) / max(1, len(hosts)))
    left = (width - len(hosts) * wide - AIR * (len(hosts) - 1)) / 2
    return tuple(Box(host, left + n * (wide + AIR), 2.0, wide, CONTROL) for n, host in enumerate(hosts))


def _beneath(drawn: DrawnCluster, width: float, top: float) -> tuple[Box, ...]:
    """Compute hosts, as many in a row as can be read."""
    hosts = [host for host in drawn.hosts if host.role == "compute"]
    in_row = min(max(1, len(hosts)), 2 if is_narrow(width) else 4)
    wide = min(WIDEST, (width - AIR * (in_row - 1)) / in_row)
    return tuple(
        Box(host, n % in_row * (wide + AIR), top + n // in_row * (HOST + AIR), wide, HOST)
        for n, host in enumerate(hosts)
    )


def _rails(drawn: DrawnCluster, rails: dict[str, float], width: float) -> Iterator[str]:
    for network in drawn.networks:
        y = rails[network.name]
        subnet = "" if is_narrow(width) else f"  {network.subnet}"
        yield line(0, y, width, y, f"rail {network.name}")
        label = f"{network.name}{subnet}  {network.rate}"
        yield words(label, width, y - 5, f"rail-name on-{network.name}", text_anchor="end")


def _drops(box: Box, rails: dict[str, float]) -> Iterator[str]:
    """A host's lines to the networks that it is on; hosts of a second row stand behind those of the first."""
    below = box.top > max(rails.values())
    for number, network in enumerate(name for name in rails if name in box.host.networks):
        x, y = box.left + FIRST_DROP + number * NEXT_DROP, rails[network]
        yield line(x, y, x, box.top if below else box.top + box.high, f"drop {network}")
        yield tag("circle", cx=x, cy=y, r=3.5, class_=f"dot {network}")


def _host(made: Report, box: Box) -> Iterator[str]:
    host, left, wide = box.host, box.left, box.wide
    what = fate(made, host.name, host.role)
    style = what.replace(" ", "-")
    english, chinese = SAID[what]
    label = f"{english} {chinese}" if wide >= WIDEST * 0.8 else english
    yield tag("rect", x=left + 1, y=box.top, width=wide - 2, height=box.high, rx=7, class_=f"host {style}")
    yield words(host.name, left + 12, box.top + 21, "host-name")
    yield words(host.address, left + 12, box.top + 38, "tick")
    yield words(label, left + 12, box.top + box.high - 11, f"fate {style}")
    yield from _gpus(made, box, style)


def _gpus(made: Report, box: Box, style: str) -> Iterator[str]:
    host, used = box.host, made.ranks.get(box.host.name, 0)
    each = min((box.wide - 24) / max(host.gpus, 1), 40.0)
    for number in range(host.gpus):
        state = f"{'used' if number < used else 'free'} {style}"
        left, top = box.left + 12 + number * each, box.top + 50
        title = f"GPU {number} of {host.name}: {'a rank' if number < used else 'not used'}"
        yield tag(
            "rect", tag("title", title), x=left, y=top, width=each - 5, height=26, rx=3, class_=f"gpu {state}"
        )
        yield words(str(number), left + each / 2 - 2.5, top + 17, f"gpu-number {state}", text_anchor="middle")


def _takeover(made: Report, boxes: tuple[Box, ...]) -> Iterator[str]:
    """An arrow from the host that was killed to the one that took over."""
    by_fate = {fate(made, box.host.name, box.host.role): box for box in boxes}
    if "lost" not in by_fate or "took over" not in by_fate or not made.recovery:
        return
    one, other = by_fate["lost"], by_fate["took over"]
    if one.top != other.top:  # the arrow would run through other hosts
        return
    x1, x2 = one.left + one.wide / 2, other.left + other.wide / 2
    y1, y2 = one.top + one.high, other.top + other.high
    low = max(y1, y2) + 20
    curve = f"M{x1:.1f} {y1 + 3:.1f}C{x1:.1f} {low:.1f} {x2:.1f} {low:.1f} {x2:.1f} {y2 + 10:.1f}"
    yield tag("path", d=curve, class_="takeover")
    head = f"{x2 - 5:.1f},{y2 + 11:.1f} {x2 + 5:.1f},{y2 + 11:.1f} {x2:.1f},{y2 + 3:.1f}"
    yield tag("polygon", points=head, class_="takeover-head")
    label = f"its ranks, {made.recovery.seconds:.1f} s later"
    yield words(label, (x1 + x2) / 2, low + 13, "new-text", text_anchor="middle")


def _machine(made: Report, width: float) -> str:
    """One machine with its ranks, where no hosts can be made."""
    ranks = max(made.world_sizes, default=len(made.hosts))
    struck = made.fault["rank"] if made.fault else None
    box = tag("rect", x=1, y=1, width=width - 2, height=108, rx=7, class_="host")
    parts = [box, words("this machine 本机", 20, 26, "host-name")]
    for rank in range(ranks):
        parts += _rank(rank, struck, (width - 32) / max(1, ranks), width)
    return picture(
        (width, 112), "The ranks on this machine", f"{ranks} ranks; rank {struck} was killed.", *parts
    )


def _rank(rank: int, struck: int | None, each: float, width: float) -> Iterator[str]:
    left, hit = 20 + rank * each, rank == struck
    style = "lost" if hit else "trained"
    said = "trained" if not hit else "killed" if is_narrow(width) else "killed, started again"
    yield tag("rect", x=left, y=40, width=each - 8, height=52, rx=5, class_=f"host {style}")
    yield words(f"rank {rank}", left + 9, 61, "host-name")
    yield words(said, left + 9, 80, f"fate {style}")


def _told(made: Report, drawn: DrawnCluster) -> str:
    hosts = ", ".join(f"{host.name}: {SAID[fate(made, host.name, host.role)][0]}" for host in drawn.hosts)
    return (
        f"{len(drawn.networks)} networks ({', '.join(network.name for network in drawn.networks)}). {hosts}."
    )
