"""Prints GPUs, adapters, NVMe disks and the PCI bridges above them, with their firmware and kernel settings, as JSON.

Argument: the root of /sys and /proc, if not /. Reads only. The configuration space of a device has 64 bytes for every
user, and all for root: for others what lies in the extended capabilities is null.
"""

import json
import os
import struct
import sys
from typing import Any, Dict, Iterator, List, Optional, Set

from clusterwright.onhost.lib.sysfs import listed, read

KINDS = {
    "0300": "gpu",
    "0302": "gpu",
    "0380": "gpu",
    "1200": "gpu",
    "0200": "nic",
    "0207": "nic",
    "0108": "nvme",
}
GPU_MAKERS = ("10de", "1002")  # NVIDIA, AMD; display controllers of the board have other vendors
PORTS = {0x4: "root", 0x5: "up", 0x6: "down"}  # PCI Express capability, device/port type
EXPRESS, ACS, RESIZABLE = 0x10, 0x0D, 0x15
HEADER, MORE, CONFIG_BYTES = 64, 0x100, 4096  # where the header, the capabilities and the extended ones end


def config(path: str) -> bytes:
    """Return the PCI configuration space of the device in this sysfs folder; empty if it is not readable."""
    try:
        with open(os.path.join(path, "config"), "rb") as file:
            return file.read(CONFIG_BYTES)
    except OSError:
        return b""


def read_number(space: bytes, offset: int, form: str) -> int:
    """Return a number of struct format `form` in configuration space; beyond its end all ones, as if no device."""
    size = struct.calcsize(form)
    return int(struct.unpack(form, (space[offset : offset + size] + b"\xff" * size)[:size])[0])


def capability(space: bytes, capability_id: int) -> int:
    """Return the offset of a PCI capability in the first 256 bytes of the configuration space; 0 without it."""
    offset = read_number(space, 0x34, "<B") & 0xFC
    visited: Set[int] = set()
    while HEADER <= offset < len(space) and offset not in visited:
        visited.add(offset)
        if space[offset] == capability_id:
            return offset
        offset = read_number(space, offset + 1, "<B") & 0xFC
    return 0


def extended(space: bytes, capability_id: int) -> int:
    """Return the offset of an extended PCI capability in the configuration space; 0 without it."""
    offset = MORE
    visited: Set[int] = set()
    while MORE <= offset < len(space) and offset not in visited:
        visited.add(offset)
        head = read_number(space, offset, "<I")
        if head & 0xFFFF == capability_id:
            return offset
        offset = head >> 20 & 0xFFC
    return 0


def port(space: bytes) -> str:
    """Return the kind of PCI Express port that a device is, by its configuration space: `root`, `up` or `down`.

    "" for other devices.
    """
    offset = capability(space, EXPRESS)
    return PORTS.get(read_number(space, offset + 2, "<H") >> 4 & 0xF, "") if offset else ""


def acs(space: bytes) -> Optional[int]:
    """Return the PCI Express Access Control Services register; -1 without ACS, None if only root may read it."""
    if len(space) <= HEADER:
        return None
    offset = extended(space, ACS)
    return read_number(space, offset + 6, "<H") if offset else -1


def resizable(space: bytes) -> List[Dict[str, int]]:
    """Return the resizable BARs, each with its present and largest size in bytes."""
    offset = extended(space, RESIZABLE)
    count = read_number(space, offset + 8, "<I") >> 5 & 7 if offset else 0
    bars = []
    for index in range(count):
        can, now = (
            read_number(space, offset + 4 + 8 * index, "<I") >> 4,
            read_number(space, offset + 8 + 8 * index, "<I"),
        )
        if can:
            most = 1 << (20 + can.bit_length() - 1)
            bars.append({"bar": now & 7, "now": 1 << (20 + (now >> 8 & 0x3F)), "most": most})
    return bars


def number(text: str) -> int:
    """Return the integer in a text; -1 if it is none."""
    try:
        return int(text, 0)
    except ValueError:
        return -1


def describe_device(tree: str, address: str, kind: str, slots: Dict[str, str]) -> Dict[str, Any]:
    """Return the record of one PCI device: kind, position, link, BARs, ACS, IOMMU and virtual functions."""
    path = os.path.join(tree, "sys/bus/pci/devices", address)
    space = config(path)
    ancestors = [part for part in os.path.realpath(path).split(os.sep) if part.count(":")]
    group = os.path.basename(os.path.realpath(os.path.join(path, "iommu_group")))
    grouped = os.path.lexists(os.path.join(path, "iommu_group"))
    kinds = os.path.join(tree, "sys/kernel/iommu_groups", group, "type") if grouped else ""
    return {
        "address": address,
        "kind": kind,
        "port": port(space),
        "above": ancestors[:-1],
        "vendor": read(path, "vendor")[2:],
        "device": read(path, "device")[2:],
        "slot": slots.get(address.rpartition(".")[0], ""),
        "numa": number(read(path, "numa_node")),
        "width": number(read(path, "current_link_width")),
        "width_most": number(read(path, "max_link_width")),
        "speed": read(path, "current_link_speed"),
        "speed_most": read(path, "max_link_speed"),
        "bars": [
            [int(value, 16) for value in line.split()] for line in read(path, "resource").splitlines()[:6]
        ],
        "resizable": resizable(space),
        "acs": acs(space),
        "iommu": read(kinds) if kinds else "",
        "functions": number(read(path, "sriov_numvfs")),
        "functions_most": number(read(path, "sriov_totalvfs")),
        "rdma": listed(path, "infiniband"),
        "virtual": os.path.lexists(os.path.join(path, "physfn")),
    }


def devices(tree: str) -> Iterator[Dict[str, Any]]:
    """Return the records of every GPU, adapter and NVMe disk, and of every bridge above one, by address."""
    folder = os.path.join(tree, "sys/bus/pci")
    slots = {read(folder, "slots", name, "address"): name for name in listed(folder, "slots")}
    records = {}
    for address in listed(folder, "devices"):
        path = os.path.join(folder, "devices", address)
        kind = KINDS.get(read(path, "class")[2:6], "")
        if kind and (kind != "gpu" or read(path, "vendor")[2:] in GPU_MAKERS):
            records[address] = describe_device(tree, address, kind, slots)
    above = {parent for row in records.values() for parent in row["above"] if parent.count(":") > 1}
    bridges = {bridge: describe_device(tree, bridge, "bridge", slots) for bridge in above}
    return iter([row for _address, row in sorted({**bridges, **records}.items())])


def processor(tree: str) -> Dict[str, Any]:
    """Return the CPU vendor, the number of sockets, and whether this is a virtual machine."""
    lines = [line.partition(":") for line in read(tree, "proc/cpuinfo").splitlines()]
    fields = [(key.strip(), value.strip()) for key, _, value in lines]
    flags = next((value.split() for key, value in fields if key == "flags"), [])
    maker = next((value for key, value in fields if key == "vendor_id"), "")
    sockets = len({value for key, value in fields if key == "physical id"})
    return {"processor": maker, "sockets": sockets, "hypervisor": "hypervisor" in flags}


def main() -> None:
    """Print the host's maker, model, BIOS, kernel command line, processor and PCI devices as JSON."""
    tree = sys.argv[1] if len(sys.argv) > 1 else "/"
    dmi, nodes = os.path.join(tree, "sys/class/dmi/id"), os.path.join(tree, "sys/devices/system/node")
    report = {
        "maker": read(dmi, "sys_vendor"),
        "model": read(dmi, "product_name"),
        "board": read(dmi, "board_vendor"),
        "bios": read(dmi, "bios_vendor"),
        "cmdline": read(tree, "proc/cmdline"),
        "units": len(listed(tree, "sys/class/iommu")),
        "nodes": sum(bool(read(nodes, name, "cpulist")) for name in listed(nodes) if name.startswith("node")),
        "devices": list(devices(tree)),
    }
    sys.stdout.write(json.dumps({**report, **processor(tree)}) + "\n")
