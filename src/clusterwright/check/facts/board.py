"""The mainboard: firmware, PCI tree, and the kernel's resources for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document

_UNSET = 0x20000000  # include/linux/ioport.h: IORESOURCE_UNSET
_MEMORY, _PREFETCH, _WIDE = 0x200, 0x2000, 0x100000  # same file: IORESOURCE_MEM, _PREFETCH, _MEM_64


@dataclass(frozen=True, slots=True)
class Bar:
    """One memory BAR of a device; `start` is -1 where the kernel assigned no address."""

    start: int
    size: int
    prefetch: bool


@dataclass(frozen=True, slots=True)
class Resizable:
    """A resizable BAR: its number, current and largest size in bytes."""

    bar: int
    now: int
    most: int


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, adapter, NVMe disk or PCI bridge; -1 or an empty text where the kernel reports no value.

    `above` lists the bridges from the host bridge down; `acs` is the ACS control register, None where it cannot be
    read; `iommu` is the type of its IOMMU domain; `virtual` marks an SR-IOV virtual function.
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
        """The PCI address and, where the firmware reports it, the slot."""
        return f"{self.address} (slot {self.slot})" if self.slot else self.address


@dataclass(frozen=True, slots=True)
class Board:
    """DMI names, kernel command line, number of IOMMU units, sockets, NUMA nodes and PCI devices."""

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
        """Return the devices of a kind (`gpu`, `nic`, `nvme`, `bridge`), without virtual functions."""
        return tuple(device for device in self.devices if device.kind == kind and not device.virtual)

    def bridges_above(self, device: Device) -> Iterator[Device]:
        """Return the PCI bridges between the host bridge and the device, top down."""
        by_address = {candidate.address: candidate for candidate in self.devices}
        return (by_address[address] for address in device.above if address in by_address)

    @property
    def rdma(self) -> tuple[Device, ...]:
        """Network adapters among the PCI devices that have an RDMA device."""
        return tuple(device for device in self.devices_by_kind("nic") if device.rdma)


@fact(probe="board", permission="root")
def board(out: str) -> Board:
    """Firmware and PCI tree from /sys and /proc; in a virtual machine those of the hypervisor."""
    document = parse_document(out)
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
    """Parse `32.0 GT/s PCIe` to 32.0; -1 for an empty text or `Unknown`."""
    number = text.split(" ", maxsplit=1)[0]
    return float(number) if number.replace(".", "").isdigit() else -1.0
