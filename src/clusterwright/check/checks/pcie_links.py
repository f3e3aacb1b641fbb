"""PCIe links of GPUs, adapters, disks and switches run with full width and speed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _, _n
from clusterwright.units import GB, human_bit_rate

_EXPECTED = N_(
    "the width and speed that both ends of each link support (max_link_width, max_link_speed in /sys)"
)
_CODED = 128 / 130  # PCI Express Base, 4.2.2: 128b/130b encoding from 8 GT/s on
_OLD, _OLD_CODED = 8.0, 0.8  # same, 4.2.1: 8b/10b encoding below that
_NONE, _STRANGE = 0, 255  # sysfs prints these for a link that is down or absent


@check(
    board,
    when=is_compute,
    unless=in_lab,
    on=("deploy", "periodic", "burn-in"),
    fix="drain the host; reseat the card or its riser",
    in_jobs=True,
)
def pcie_links(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Every PCIe link to a GPU, RDMA adapter or NVMe disk runs with the width and speed that both ends support.

    The speed of a GPU's link is not judged here: an idle GPU lowers it to save power (see gpu_pcie).
    """
    if guest := of_guest(have):
        yield guest
        return
    links = _links(have)
    faults = [
        *(verdict for upper, lower in links for verdict in _wrong(have, upper, lower)),
        *_short(spec, have),
    ]
    yield from faults or [
        fine(
            observed=_n(
                "{count} PCIe link at full width and speed",
                "{count} PCIe links at full width and speed",
                len(links),
            ),
            expected=_(_EXPECTED),
        )
    ]


def _links(have: Board) -> list[tuple[Device, Device]]:
    """Return (upper, lower) device of each link; there is no link between the two ports of a switch."""
    links: dict[str, tuple[Device, Device]] = {}
    for device in (*have.devices_by_kind("gpu"), *have.rdma, *have.devices_by_kind("nvme")):
        path = [*have.bridges_above(device), device]
        for upper, lower in itertools.pairwise(path):
            if lower.port != "down" and _NONE < lower.width < _STRANGE:
                links[lower.address] = (upper, lower)
    return list(links.values())


def _wrong(have: Board, upper: Device, lower: Device) -> Iterator[Verdict]:
    name = _(
        "the {kind} at {location}",
        kind=lower.kind if lower.kind != "bridge" else "switch",
        location=lower.location,
    )
    part, fix = (
        f"{lower.kind} {lower.address}",
        _("drain the host; reseat the card or its riser; check {menu}", menu=bios_menu(have, "slot")),
    )
    lanes, rate = min(upper.width_most, lower.width_most), min(upper.speed_most, lower.speed_most)
    if lower.width < lanes:
        yield fault(
            observed=_("{device} has {width} of {lanes} lanes", device=name, width=lower.width, lanes=lanes),
            expected=_(_EXPECTED),
            part=part,
            fix=fix,
        )
    if lower.kind != "gpu" and 0 < lower.speed < rate:
        observed = _("{device} runs at {speed:g} of {most:g} GT/s", device=name, speed=lower.speed, most=rate)
        yield fault(observed=observed, expected=_(_EXPECTED), part=part, fix=fix, otherwise=Status.WARN)
    if lower.kind == "gpu" and 0 < upper.width_most < lower.width_most:
        observed = _(
            "{device} supports {lanes} lanes but its slot only {slot_lanes}",
            device=name,
            lanes=lower.width_most,
            slot_lanes=upper.width_most,
        )
        yield fault(
            observed=observed, expected=_(_EXPECTED), part=part, fix=_move(have), otherwise=Status.WARN
        )


def _short(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Yield a fault for each adapter whose slot is slower than the declared rate of the compute network."""
    network = spec.cluster.networks.compute
    rate = network.rate if network and "compute" in spec.host.addresses else 0
    for adapter in have.rdma:
        if 0 < _carries(adapter) < rate:
            yield fault(
                observed=_(
                    "the PCIe slot of {adapter} at {location} carries {rate}",
                    adapter=adapter.rdma[0],
                    location=adapter.location,
                    rate=human_bit_rate(_carries(adapter)),
                ),
                expected=_("at least {rate} (networks.compute.rate)", rate=human_bit_rate(rate)),
                part=f"nic {adapter.address}",
                fix=_move(have),
                otherwise=Status.WARN,
            )


def _carries(adapter: Device) -> float:
    if not _NONE < adapter.width < _STRANGE or adapter.speed <= 0:
        return 0.0
    return adapter.width * adapter.speed * GB * (_CODED if adapter.speed >= _OLD else _OLD_CODED)


def _move(have: Board) -> str:
    return _(
        "move the card to a slot with enough lanes, as on other hosts; check {menu}",
        menu=bios_menu(have, "slot"),
    )
