"""Derives NCCL's topology file: GPUs and adapters by PCI bridge, from this host's sysfs.

Standard library only, Python 3.6 or later. The format is that of NCCL's own dump (NCCL_TOPO_DUMP_FILE).
"""

import os
import re
from typing import Dict, List, Optional, Tuple

from clusterwright.onhost.provision.derive.rdma import TREE, listed, text_of
from clusterwright.onhost.provision.host import Json, LocalHost

DEVICES = "/sys/bus/pci/devices"
BRIDGE = "0x060400"
ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$")
GPU, NIC = "gpu", "nic"
Node = Dict[str, "Node"]  # devices below, by PCI address


def text(host: LocalHost, _params: Json, notes: List[str]) -> Optional[str]:
    """Return NCCL's topology file as XML; None, with a note, if no GPU and adapter share a PCI bridge."""
    if not pairs(host):
        notes.append(
            "no GPU and adapter share a PCI bridge, so there is no topology file (rdma.topology_file). A virtual "
            "machine's PCI tree is flat: set the path of its provider's topology file in "
            "jobs.variables.NCCL_TOPO_FILE"
        )
        return None
    by_cpu = {}  # type: Dict[int, List[str]]
    kinds = ends(host)
    for end in sorted(kinds):
        by_cpu.setdefault(numa(host, end), []).append(end)
    cpus = [cpu(host, number, trunk(host, endpoints)) for number, endpoints in sorted(by_cpu.items())]
    return '<system version="1">\n{}</system>\n'.format("".join(cpus))


def ends(host: LocalHost) -> Dict[str, str]:
    """Return `gpu` or `nic` by the PCI address of each GPU and RDMA adapter."""
    kinds = {}
    for device in listed(host, TREE):
        pci_address = os.path.basename(os.path.realpath(host.resolve_path(f"{TREE}/{device}/device")))
        if ADDRESS.match(pci_address):
            kinds[pci_address] = NIC
    for pci_address in listed(host, DEVICES):
        if is_gpu(host, pci_address):
            kinds[pci_address] = GPU
    return kinds


def is_gpu(host: LocalHost, pci_address: str) -> bool:
    """Return True for a display or 3D controller of NVIDIA or AMD; the board's own display is neither."""
    vendor = text_of(host, DEVICES, pci_address, "vendor")
    return text_of(host, DEVICES, pci_address, "class")[:4] in ("0x03", "0x12") and vendor in (
        "0x10de",
        "0x1002",
    )


def above(host: LocalHost, end: str) -> List[str]:
    """Return the PCI addresses on the path to a device: of the bridges from the root down, without its own."""
    path = os.path.realpath(host.resolve_path(f"{DEVICES}/{end}")).split("/")[:-1]
    return [part for part in path if ADDRESS.match(part)]


def pairs(host: LocalHost) -> List[Tuple[str, str]]:
    """Return the pairs of PCI addresses of a GPU and an adapter that are below the same bridge."""
    kinds = ends(host)
    over = {end: set(above(host, end)) for end in kinds}
    gpus = [end for end in kinds if kinds[end] == GPU]
    nics = [end for end in kinds if kinds[end] == NIC]
    return sorted((gpu, nic) for gpu in gpus for nic in nics if over[gpu] & over[nic])


def trunk(host: LocalHost, endpoints: List[str]) -> "Node":
    """Return the PCI tree of these devices, without bridges that have a single child."""
    root = {}  # type: Node
    for end in endpoints:
        node = root
        for bridge in [*above(host, end), end]:
            node = node.setdefault(bridge, {})
    return pruned(root)


def pruned(node: "Node") -> "Node":
    """Return the tree without bridges that have a single child."""
    result = {}  # type: Node
    for name, below in node.items():
        inner = pruned(below)
        if len(inner) == 1:
            result.update(inner)
        else:
            result[name] = inner
    return result


def cpu(host: LocalHost, number: int, below: "Node") -> str:
    """Return the XML of one NUMA node, of this number, and of the PCI devices below it."""
    attrs = {"numaid": str(number), "affinity": cpus_of(host, number), "arch": os.uname().machine}
    attrs.update(maker(host))
    inside = "".join(pci(host, name, node, "    ") for name, node in sorted(below.items()))
    return f"  <cpu {attributes(attrs)}>\n{inside}  </cpu>\n"


def pci(host: LocalHost, name: str, below: "Node", indent: str) -> str:
    """Return the XML of a PCI device `name`, or of a bridge and all devices below it, each line behind `indent`."""
    attrs = {"busid": name, "class": text_of(host, DEVICES, name, "class") or BRIDGE}
    attrs["link_speed"] = text_of(host, DEVICES, name, "max_link_speed")
    attrs["link_width"] = text_of(host, DEVICES, name, "max_link_width")
    if not below:
        return f"{indent}<pci {attributes(attrs)}/>\n"
    inside = "".join(pci(host, child_name, node, indent + "  ") for child_name, node in sorted(below.items()))
    return f"{indent}<pci {attributes(attrs)}>\n{inside}{indent}</pci>\n"


def attributes(attrs: Dict[str, str]) -> str:
    """Return XML attributes without empty ones; sysfs and /proc contain no quotes here."""
    return " ".join(f'{name}="{value}"' for name, value in attrs.items() if value and '"' not in value)


def numa(host: LocalHost, end: str) -> int:
    """Return the number of the PCI device's NUMA node; 0 if it is unknown (the kernel's -1)."""
    value = text_of(host, DEVICES, end, "numa_node")
    return max(0, int(value)) if re.match(r"-?\d+$", value) else 0


def cpus_of(host: LocalHost, number: int) -> str:
    """Return the CPU mask of the NUMA node with this number, as text of sysfs."""
    return text_of(host, f"/sys/devices/system/node/node{number}/cpumap")


def maker(host: LocalHost) -> Dict[str, str]:
    """Return vendor, family and model of the CPU, by which NCCL selects its tuning."""
    rows = (line.partition(":") for line in text_of(host, "/proc/cpuinfo").splitlines())
    cpu_info = {}  # type: Dict[str, str]
    for name, _, value in rows:
        cpu_info.setdefault(name.strip(), value.strip())
    names = {"vendor": "vendor_id", "familyid": "cpu family", "modelid": "model"}
    return {ours: cpu_info[theirs] for ours, theirs in names.items() if theirs in cpu_info}
