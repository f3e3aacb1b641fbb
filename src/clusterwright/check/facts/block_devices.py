"""The disks of the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document

Kind = Literal["nvme", "ssd", "hdd"]


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """One whole disk: its kind and size."""

    name: str
    kind: Kind
    size_bytes: int


@fact("lsblk", "--json", "--bytes", "--nodeps", "-o", "NAME,SIZE,ROTA,TYPE")
def block_devices(out: str) -> tuple[BlockDevice, ...]:
    """Every whole disk of the kernel; the disks behind a RAID controller count as one."""
    rows = parse_document(out)["blockdevices"]
    return tuple(
        BlockDevice(row["name"], _kind(row["name"], str(row["rota"])), int(row["size"]))
        for row in rows
        if row["type"] == "disk"
    )


def _kind(name: str, turns: str) -> Kind:
    if name.startswith("nvme"):
        return "nvme"
    return "hdd" if turns in ("True", "1") else "ssd"  # lsblk before 2.33 prints strings
