"""Prints GPUs, adapters and NVMe disks, the PCI bridges above them, and what firmware and kernel made of them, as JSON.

Argument: where the kernel's /sys and /proc are, if not at the root. Reads only. Of its configuration space a device
shows anyone 64 bytes, and root all: without that, what lies in the extended capabilities is null.
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
GPU_MAKERS = ("10de", "1002")  # NVIDIA, AMD; boards have a display controller of their own, of other makers
PORTS = {0x4: "root", 0x5: "up", 0x6: "down"}  # PCI Express capability, device/port type
EXPRESS, ACS, RESIZABLE = 0x10, 0x0D, 0x15
HEADER, MORE, WHOLE = 64, 0x100, 4096  # where the header, the capabilities and the extended ones end


def config(place: str) -> bytes:
    """The configuration space, as much of it as may be read."""
    try:
        with open(os.path.join(place, "config"), "rb") as file:
            return file.read(WHOLE)
    except OSError:
        return b""


def word(space: bytes, at: int, form: str) -> int:
    """A number in it; all ones, as a device that is gone would say, where it ends before."""
    size = struct.calcsize(form)
    return int(struct.unpack(form, (space[at : at + size] + b"\xff" * size)[:size])[0])


def capability(space: bytes, wanted: int) -> int:
    """Where a capability of the first 256 bytes begins, or 0."""
    at = word(space, 0x34, "<B") & 0xFC
    seen: Set[int] = set()
    while HEADER <= at < len(space) and at not in seen:
        seen.add(at)
        if space[at] == wanted:
            return at
        at = word(space, at + 1, "<B") & 0xFC
    return 0


def extended(space: bytes, wanted: int) -> int:
    """Where an extended capability begins, or 0."""
    at = MORE
    seen: Set[int] = set()
    while MORE <= at < len(space) and at not in seen:
        seen.add(at)
        head = word(space, at, "<I")
        if head & 0xFFFF == wanted:
            return at
        at = head >> 20 & 0xFFC
    return 0


def port(space: bytes) -> str:
    """Root port, upstream or downstream port of a switch; no text for what is no PCI Express bridge."""
    at = capability(space, EXPRESS)
    return PORTS.get(word(space, at + 2, "<H") >> 4 & 0xF, "") if at else ""


def acs(space: bytes) -> Optional[int]:
    """The ACS control register; -1 where there is none, None where it may not be read."""
    if len(space) <= HEADER:
        return None
    at = extended(space, ACS)
    return word(space, at + 6, "<H") if at else -1


def resizable(space: bytes) -> List[Dict[str, int]]:
    """BARs that can be resized: which, the sizes in bytes now and at most."""
    at = extended(space, RESIZABLE)
    count = word(space, at + 8, "<I") >> 5 & 7 if at else 0
    found = []
    for each in range(count):
        can, now = word(space, at + 4 + 8 * each, "<I") >> 4, word(space, at + 8 + 8 * each, "<I")
        if can:
            most = 1 << (20 + can.bit_length() - 1)
            found.append({"bar": now & 7, "now": 1 << (20 + (now >> 8 & 0x3F)), "most": most})
    return found


def number(text: str) -> int:
    """A number, or -1."""
    try:
        return int(text, 0)
    except ValueError:
        return -1


def one(tree: str, address: str, kind: str, slots: Dict[str, str]) -> Dict[str, Any]:
    """One device."""
    place = os.path.join(tree, "sys/bus/pci/devices", address)
    space = config(place)
    way = [part for part in os.path.realpath(place).split(os.sep) if part.count(":")]
    group = os.path.basename(os.path.realpath(os.path.join(place, "iommu_group")))
    grouped = os.path.lexists(os.path.join(place, "iommu_group"))
    kinds = os.path.join(tree, "sys/kernel/iommu_groups", group, "type") if grouped else ""
    return {
        "address": address,
        "kind": kind,
        "port": port(space),
        "above": way[:-1],
        "vendor": read(place, "vendor")[2:],
        "device": read(place, "device")[2:],
        "slot": slots.get(address.rpartition(".")[0], ""),
        "numa": number(read(place, "numa_node")),
        "width": number(read(place, "current_link_width")),
        "width_most": number(read(place, "max_link_width")),
        "speed": read(place, "current_link_speed"),
        "speed_most": read(place, "max_link_speed"),
        "bars": [
            [int(each, 16) for each in line.split()] for line in read(place, "resource").splitlines()[:6]
        ],
        "resizable": resizable(space),
        "acs": acs(space),
        "iommu": read(kinds) if kinds else "",
        "functions": number(read(place, "sriov_numvfs")),
        "functions_most": number(read(place, "sriov_totalvfs")),
        "rdma": listed(place, "infiniband"),
        "virtual": os.path.lexists(os.path.join(place, "physfn")),
    }


def devices(tree: str) -> Iterator[Dict[str, Any]]:
    """Every device that matters, and every bridge above one."""
    folder = os.path.join(tree, "sys/bus/pci")
    slots = {read(folder, "slots", name, "address"): name for name in listed(folder, "slots")}
    found = {}
    for address in listed(folder, "devices"):
        place = os.path.join(folder, "devices", address)
        kind = KINDS.get(read(place, "class")[2:6], "")
        if kind and (kind != "gpu" or read(place, "vendor")[2:] in GPU_MAKERS):
            found[address] = one(tree, address, kind, slots)
    above = {each for row in found.values() for each in row["above"] if each.count(":") > 1}
    bridges = {each: one(tree, each, "bridge", slots) for each in above}
    return iter([row for _address, row in sorted({**bridges, **found}.items())])


def processor(tree: str) -> Dict[str, Any]:
    """Who made the processors, how many sockets, and whether a hypervisor shows them."""
    lines = [line.partition(":") for line in read(tree, "proc/cpuinfo").splitlines()]
    told = [(key.strip(), value.strip()) for key, _, value in lines]
    flags = next((value.split() for key, value in told if key == "flags"), [])
    maker = next((value for key, value in told if key == "vendor_id"), "")
    sockets = len({value for key, value in told if key == "physical id"})
    return {"processor": maker, "sockets": sockets, "hypervisor": "hypervisor" in flags}


def main() -> None:
    """All of it."""
    tree = sys.argv[1] if len(sys.argv) > 1 else "/"
    dmi, nodes = os.path.join(tree, "sys/class/dmi/id"), os.path.join(tree, "sys/devices/system/node")
    told = {
        "maker": read(dmi, "sys_vendor"),
        "model": read(dmi, "product_name"),
        "board": read(dmi, "board_vendor"),
        "bios": read(dmi, "bios_vendor"),
        "cmdline": read(tree, "proc/cmdline"),
        "units": len(listed(tree, "sys/class/iommu")),
        "nodes": sum(bool(read(nodes, name, "cpulist")) for name in listed(nodes) if name.startswith("node")),
        "devices": list(devices(tree)),
    }
    sys.stdout.write(json.dumps({**told, **processor(tree)}) + "\n")
