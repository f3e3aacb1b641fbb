"""The board: its firmware, its PCI tree, and what the kernel made of both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.check.fact import fact

_UNSET = 0x20000000  # include/linux/ioport.h: IORESOURCE_UNSET
_MEMORY, _PREFETCH, _WIDE = 0x200, 0x2000, 0x100000  # likewise: IORESOURCE_MEM, _PREFETCH, _MEM_64


@dataclass(frozen=True, slots=True)
class Bar:
    """One window of a device into memory addresses; its first is -1 where it was given none."""

    start: int
    size: int
    prefetch: bool


@dataclass(frozen=True, slots=True)
class Resizable:
    """A BAR that can be resized, in bytes."""

    bar: int
    now: int
    most: int


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, adapter, NVMe disk, or bridge above one; -1 and no text where the kernel does not say.

    `above` are the bridges from the CPU down, its host bridge first; `acs` is the control register, None where it
    cannot be read; `iommu` is the kind of its IOMMU domain.
    """

    address: str
    kind: str
    port: str
    above: tuple[str, ...]
    vendor: str
    device: str
    slot: str
    numa: int
    width: int
    width_most: int
    speed: float
    speed_most: float
    bars: tuple[Bar, ...]
    resizable: tuple[Resizable, ...]
    acs: int | None
    iommu: str
    functions: int
    functions_most: int
    rdma: tuple[str, ...]
    virtual: bool

    @property
    def location(self) -> str:
        """Its address and, where firmware says it, its slot."""
        return f"{self.address} (slot {self.slot})" if self.slot else self.address


@dataclass(frozen=True, slots=True)
class Board:
    """What DMI, the kernel's command line, the IOMMU, the CPUs and the PCI tree say."""

    maker: str
    model: str
    board: str
    bios: str
    processor: str
    sockets: int
    hypervisor: bool
    cmdline: tuple[str, ...]
    units: int
    nodes: int
    devices: tuple[Device, ...]

    def devices_by_kind(self, kind: str) -> tuple[Device, ...]:
        """Its `gpu`s, `nic`s, `nvme`s or `bridge`s; functions of SR-IOV are no devices of their own."""
        return tuple(device for device in self.devices if device.kind == kind and not device.virtual)

    def bridges_above(self, device: Device) -> Iterator[Device]:
        """Ports between the device and its host bridge, from the CPU down."""
        by_address = {candidate.address: candidate for candidate in self.devices}
        return (by_address[address] for address in device.above if address in by_address)

    @property
    def rdma(self) -> tuple[Device, ...]:
        """Adapters that do RDMA."""
        return tuple(device for device in self.devices_by_kind("nic") if device.rdma)


@fact(probe="board")
def board(out: str) -> Board:
    """From /sys and /proc alone, no dmidecode and no lspci; in a virtual machine it is the hypervisor's board."""
    document = json.loads(out)
    return Board(
        **{name: str(document[name]) for name in ("maker", "model", "board", "bios", "processor")},
        sockets=int(document["sockets"]),
        hypervisor=bool(document["hypervisor"]),
        cmdline=tuple(str(document["cmdline"]).split()),
        units=int(document["units"]),
        nodes=int(document["nodes"]),
        devices=tuple(_device(row) for row in document["devices"]),
    )


def _device(row: Mapping[str, Any]) -> Device:
    keys = ("address", "kind", "port", "vendor", "device", "slot", "numa", "width", "width_most", "acs")
    more = ("iommu", "functions", "functions_most", "virtual")
    return Device(
        **{name: row[name] for name in (*keys, *more)},
        above=tuple(row["above"]),
        rdma=tuple(row["rdma"]),
        speed=_gt(row["speed"]),
        speed_most=_gt(row["speed_most"]),
        bars=tuple(_bar(*bar) for bar in row["bars"]),
        resizable=tuple(Resizable(**window) for window in row["resizable"]),
    )


def _bar(start: int, last: int, flags: int) -> Bar:
    is_assigned = flags & _MEMORY and not flags & _UNSET and last > start
    size = last - start + 1 if last > start else 0
    return Bar(start if is_assigned else -1, size, bool(flags & _PREFETCH and flags & _WIDE))


def _gt(text: str) -> float:
    """`32.0` of `32.0 GT/s PCIe`; -1 where nothing is said, or `Unknown`."""
    number = text.split(" ", maxsplit=1)[0]
    return float(number) if number.replace(".", "").isdigit() else -1.0
