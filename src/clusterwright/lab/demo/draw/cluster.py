"""Draw the cluster: networks as rails, hosts attached to them, and each host's outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from clusterwright.drawing.svg import is_narrow, line, svg_image, tag, text_element
from clusterwright.i18n import N_, _, both_languages
from clusterwright.lab.demo.report import DemoReport, DrawnCluster, DrawnHost

Fate = Literal["control", "trained", "lost", "took over", "held ready", "not asked"]
LABELS: dict[Fate, str] = {
    "control": N_("runs Slurm's controller"),
    "trained": N_("trained to the end"),
    "lost": N_("killed"),
    "took over": N_("took over"),
    "held ready": N_("held ready"),
    "not asked": N_("not in the job"),
}
RAIL, HOST, CONTROL, AIR, WIDEST = 26.0, 118.0, 66.0, 14.0, 260.0  # in the drawing's units
FIRST_DROP, NEXT_DROP = 14.0, 12.0  # where a host's lines to its networks start


@dataclass(frozen=True, slots=True)
class Box:
    """The position of a host's box in the drawing."""

    host: DrawnHost
    left: float
    top: float
    wide: float
    high: float


def cluster(report: DemoReport, width: float) -> str:
    """Return the SVG of the cluster: control on top, networks in the middle, compute hosts below.

    Without a cluster one machine with its ranks.
    """
    if report.cluster is None:
        return _machine(report, width)
    drawn = report.cluster
    rails = {network.name: CONTROL + 34 + number * RAIL for number, network in enumerate(drawn.networks)}
    boxes = (*_above(drawn, width), *_beneath(drawn, width, max(rails.values()) + 30))
    parts = [
        *_rails(drawn, rails, width),
        *(piece for box in boxes for piece in _drops(box, rails)),
        *(piece for box in boxes for piece in _host(report, box)),
        *_failover_arrow(report, boxes),
    ]
    size = (width, max(box.top + box.high for box in boxes) + 38)
    return svg_image(size, _("Cluster {name}", name=drawn.name), _description(report, drawn), *parts)


def fate(report: DemoReport, host: str, role: str = "compute") -> Fate:
    """Return a host's outcome for the drawing: control, lost, took over, trained, held ready or not asked.

    `took over` if its first training began after the fault; `not asked` if the timeline has nothing of the host.
    """
    if role == "control":
        return "control"
    if report.fault and host == report.fault["host"]:
        return "lost"
    spans = next((lane.spans for lane in report.lanes if lane.place == host), ())
    trained = [span.start for span in spans if span.doing == "training"]
    if not trained:
        return "held ready" if spans else "not asked"
    return "took over" if report.fault and min(trained) > report.fault["at_s"] else "trained"


def _above(drawn: DrawnCluster, width: float) -> tuple[Box, ...]:
    """Return the boxes, for drawing, of hosts that do not compute, in a row centered at the top."""
    hosts = [host for host in drawn.hosts if host.role != "compute"]
    wide = min(WIDEST, (width - AIR * (len(hosts) - 1)) / max(1, len(hosts)))
    left = (width - len(hosts) * wide - AIR * (len(hosts) - 1)) / 2
    return tuple(Box(host, left + n * (wide + AIR), 2.0, wide, CONTROL) for n, host in enumerate(hosts))


def _beneath(drawn: DrawnCluster, width: float, top: float) -> tuple[Box, ...]:
    """Return the boxes, for drawing, of compute hosts, in rows from `top` down, as many in a row as can be read."""
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
        yield text_element(label, width, y - 5, f"rail-name on-{network.name}", text_anchor="end")


def _drops(box: Box, rails: dict[str, float]) -> Iterator[str]:
    """Yield the SVG of a host's lines to its networks; those of hosts in a second row are behind those of the first."""
    below = box.top > max(rails.values())
    for number, network in enumerate(name for name in rails if name in box.host.networks):
        x, y = box.left + FIRST_DROP + number * NEXT_DROP, rails[network]
        yield line(x, y, x, box.top if below else box.top + box.high, f"drop {network}")
        yield tag("circle", cx=x, cy=y, r=3.5, class_=f"dot {network}")


def _host(report: DemoReport, box: Box) -> Iterator[str]:
    host, left, wide = box.host, box.left, box.wide
    status = fate(report, host.name, host.role)
    style = status.replace(" ", "-")
    label = both_languages(LABELS[status]) if wide >= WIDEST * 0.8 else _(LABELS[status])
    yield tag("rect", x=left + 1, y=box.top, width=wide - 2, height=box.high, rx=7, class_=f"host {style}")
    yield text_element(host.name, left + 12, box.top + 21, "host-name")
    yield text_element(host.address, left + 12, box.top + 38, "tick")
    yield text_element(label, left + 12, box.top + box.high - 11, f"fate {style}")
    yield from _gpus(report, box, style)


def _gpus(report: DemoReport, box: Box, style: str) -> Iterator[str]:
    host, used = box.host, report.ranks.get(box.host.name, 0)
    pitch = min((box.wide - 24) / max(host.gpus, 1), 40.0)
    for number in range(host.gpus):
        state = f"{'used' if number < used else 'free'} {style}"
        left, top = box.left + 12 + number * pitch, box.top + 50
        text = (
            N_("GPU {number} of {host}: a rank") if number < used else N_("GPU {number} of {host}: not used")
        )
        title = _(text, number=number, host=host.name)
        yield tag(
            "rect",
            tag("title", title),
            x=left,
            y=top,
            width=pitch - 5,
            height=26,
            rx=3,
            class_=f"gpu {state}",
        )
        yield text_element(
            str(number), left + pitch / 2 - 2.5, top + 17, f"gpu-number {state}", text_anchor="middle"
        )


def _failover_arrow(report: DemoReport, boxes: tuple[Box, ...]) -> Iterator[str]:
    """Yield an arrow in SVG from the killed host to the host that took over.

    Nothing without both and a recovery, or if they are drawn in different lines.
    """
    by_fate = {fate(report, box.host.name, box.host.role): box for box in boxes}
    if "lost" not in by_fate or "took over" not in by_fate or not report.recovery:
        return
    source, target = by_fate["lost"], by_fate["took over"]
    if source.top != target.top:  # the arrow would run through other hosts
        return
    x1, x2 = source.left + source.wide / 2, target.left + target.wide / 2
    y1, y2 = source.top + source.high, target.top + target.high
    low = max(y1, y2) + 20
    curve = f"M{x1:.1f} {y1 + 3:.1f}C{x1:.1f} {low:.1f} {x2:.1f} {low:.1f} {x2:.1f} {y2 + 10:.1f}"
    yield tag("path", d=curve, class_="takeover")
    head = f"{x2 - 5:.1f},{y2 + 11:.1f} {x2 + 5:.1f},{y2 + 11:.1f} {x2:.1f},{y2 + 3:.1f}"
    yield tag("polygon", points=head, class_="takeover-head")
    label = _("the run's ranks, {seconds:.1f} s later", seconds=report.recovery.seconds)
    yield text_element(label, (x1 + x2) / 2, low + 13, "new-text", text_anchor="middle")


def _machine(report: DemoReport, width: float) -> str:
    """Return the SVG of one machine with its ranks, for a demo without hosts."""
    ranks = max(report.world_sizes, default=len(report.hosts))
    killed_rank = report.fault["rank"] if report.fault else None
    box = tag("rect", x=1, y=1, width=width - 2, height=108, rx=7, class_="host")
    parts = [box, text_element(both_languages("this machine"), 20, 26, "host-name")]
    for rank in range(ranks):
        parts += _rank(rank, killed_rank, (width - 32) / max(1, ranks), width)
    return svg_image(
        (width, 112),
        _("The ranks on this machine"),
        _("{ranks} ranks; rank {killed_rank} was killed.", ranks=ranks, killed_rank=killed_rank),
        *parts,
    )


def _rank(rank: int, killed_rank: int | None, pitch: float, width: float) -> Iterator[str]:
    left, hit = 20 + rank * pitch, rank == killed_rank
    style = "lost" if hit else "trained"
    caption = "trained" if not hit else "killed" if is_narrow(width) else _("killed, restarted")
    yield tag("rect", x=left, y=40, width=pitch - 8, height=52, rx=5, class_=f"host {style}")
    yield text_element(f"rank {rank}", left + 9, 61, "host-name")
    yield text_element(caption, left + 9, 80, f"fate {style}")


def _description(report: DemoReport, drawn: DrawnCluster) -> str:
    hosts = ", ".join(f"{host.name}: {_(LABELS[fate(report, host.name, host.role)])}" for host in drawn.hosts)
    return _(
        "{count} networks ({networks}). {hosts}.",
        count=len(drawn.networks),
        networks=", ".join(network.name for network in drawn.networks),
        hosts=hosts,
    )
