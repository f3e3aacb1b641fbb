"""Adapters, GPUs and disks have their PCIe lanes, and so have the switches above them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from clusterwright.check.bios import bios_menu, in_lab, of_guest
from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec, is_compute
from clusterwright.check.facts.board import Board, Device, board
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import GB

_EXPECTED = N_("the lanes and the rate that both ends of each link can have (max_link_width, max_link_speed)")
_CODED = 128 / 130  # PCI Express Base, 4.2.2: what the line code leaves from 8 GT/s on
_OLD, _OLD_CODED = 8.0, 0.8  # likewise 4.2.1: 8b/10b below that
_NONE, _STRANGE = 0, 255  # what sysfs prints for a link that is down, or not there


@check(
    board,
    when=is_compute,
    unless=in_lab,
    on=("deploy", "periodic", "burn-in"),
    fix="drain the host; reseat the card or its riser",
)
def pcie_links(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Every link from a CPU to a GPU, RDMA adapter or NVMe disk has the lanes and the rate that both ends can have.

    A GPU's rate is not judged here: idle, it lowers it to save power (gpu_pcie looks under load).
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
            observed=_("{count} links as wide and as fast as they can be", count=len(links)),
            expected=_EXPECTED,
        )
    ]


def _links(have: Board) -> list[tuple[Device, Device]]:
    """Both ends of each link; between the two ports of a switch there is none."""
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
        _("drain the host; reseat it or its riser; {bios_menu}", bios_menu=bios_menu(have, "slot")),
    )
    lanes, rate = min(upper.width_most, lower.width_most), min(upper.speed_most, lower.speed_most)
    if lower.width < lanes:
        yield fault(
            observed=_("{name} has {width} of {lanes} lanes", name=name, width=lower.width, lanes=lanes),
            expected=_EXPECTED,
            part=part,
            fix=fix,
        )
    if lower.kind != "gpu" and 0 < lower.speed < rate:
        observed = _("{name} works at {speed:g} of {rate:g} GT/s", name=name, speed=lower.speed, rate=rate)
        yield fault(observed=observed, expected=_EXPECTED, part=part, fix=fix, otherwise=Status.WARN)
    if lower.kind == "gpu" and 0 < upper.width_most < lower.width_most:
        observed = _(
            "{name} with {width_most} lanes is in a slot of {width_most2}",
            name=name,
            width_most=lower.width_most,
            width_most2=upper.width_most,
        )
        yield fault(observed=observed, expected=_EXPECTED, part=part, fix=_move(have), otherwise=Status.WARN)


def _short(spec: HostSpec, have: Board) -> Iterator[Verdict]:
    """Adapters whose slot cannot carry the declared rate of the compute network."""
    network = spec.cluster.networks.compute
    rate = network.rate if network and "compute" in spec.host.addresses else 0
    for adapter in have.rdma:
        if 0 < _carries(adapter) < rate:
            yield fault(
                observed=_(
                    "the slot of {rdma} at {location} carries {carries:.0f} Gbit/s",
                    rdma=adapter.rdma[0],
                    location=adapter.location,
                    carries=_carries(adapter) / GB,
                ),
                expected=_("{rate:.0f} Gbit/s (networks.compute.rate)", rate=rate / GB),
                part=_("nic {address}", address=adapter.address),
                fix=_move(have),
                otherwise=Status.WARN,
            )


def _carries(adapter: Device) -> float:
    if not _NONE < adapter.width < _STRANGE or adapter.speed <= 0:
        return 0.0
    return adapter.width * adapter.speed * GB * (_CODED if adapter.speed >= _OLD else _OLD_CODED)


def _move(have: Board) -> str:
    return _(
        "move the card to a slot that has as much, as on other hosts; {bios_menu}",
        bios_menu=bios_menu(have, "slot"),
    )
