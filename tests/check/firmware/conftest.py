"""A board as the kernel shows it: a tree of files that the real probe reads, and that a test can damage."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.check import registry
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import board
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.load import load_cluster
from clusterwright.edge import bundler

ROOT = Path(__file__).parents[3]
CHECKS = {each.id: each for each in registry.all_checks()}
OF_THE_BOARD = sorted(each.id for each in CHECKS.values() if each.needs == (board,))
PORTS = {"root": 4, "up": 5, "down": 6, "": 0}
GIB = 1 << 30
MEMORY, WIDE = 0x40200, 0x14220C  # flags of `resource`: 32 bits; 64 bits and prefetchable
ASPEED, NVIDIA, MELLANOX, SAMSUNG, BROADCOM, INTEL = (
    "0x1a03",
    "0x10de",
    "0x15b3",
    "0x144d",
    "0x1000",
    "0x8086",
)


def space(port, acs=None, resizable=None):
    """4096 bytes of configuration: a PCI Express capability, ACS and a BAR that can be resized if asked for."""
    found = bytearray(4096)
    found[0x34] = 0x40
    found[0x40:0x44] = struct.pack("<BBH", 0x10, 0, PORTS[port] << 4 | 2)
    more = [(0x01, b"\0" * 16)]
    if acs is not None:
        more.append((0x0D, struct.pack("<HH", 0x5F, acs)))
    if resizable:
        bar, now, most = resizable
        bits = ((1 << (most.bit_length() - 20)) - 1) << 4
        more.append((0x15, struct.pack("<II", bits, (now.bit_length() - 21) << 8 | 1 << 5 | bar)))
    for index, (kind, body) in enumerate(more):
        at, after = 0x100 + 0x40 * index, 0x140 + 0x40 * index if index + 1 < len(more) else 0
        found[at : at + 4 + len(body)] = struct.pack("<I", after << 20 | 1 << 16 | kind) + body
    return bytes(found)


class Tree:
    """Files below a folder; `put` changes one, `read` is what the probe makes of all."""

    def __init__(self, root):
        self.root = root
        self.places = {}

    def put(self, path, text):
        """The text, or the bytes, are in that file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def device(
        self, address, above, kind, vendor, *, numa, config, width=16, speed="32.0 GT/s PCIe", **files
    ):
        """One device beneath those bridges, and the link to it that sysfs has among all devices."""
        self.places[address] = "/".join(["sys/devices", *above, address])
        shown = {
            "class": kind, "vendor": vendor, "device": "0x2330", "numa_node": str(numa), "config": config,
            "current_link_width": str(width), "max_link_width": str(width),
            "current_link_speed": speed, "max_link_speed": speed, "resource": "", **files,
        }  # fmt: skip
        for name, text in shown.items():
            self.put(f"{self.places[address]}/{name}", text)
        link = self.root / "sys/bus/pci/devices" / address
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(self.root / self.places[address])

    def change(self, address, name, text):
        """A file of one device is another."""
        self.put(f"{self.places[address]}/{name}", text)

    def domain(self, kind):
        """There is an IOMMU, and every device has a domain of that kind."""
        self.put("sys/class/iommu/dmar0/name", "")
        self.put("sys/kernel/iommu_groups/7/type", kind)
        for place in self.places.values():
            link = self.root / place / "iommu_group"
            if not link.is_symlink():
                link.symlink_to(self.root / "sys/kernel/iommu_groups/7")

    def print(self):
        """What the probe prints, run as the reader runs it."""
        source = bundler.probe("board")
        argv = [sys.executable, "-I", "-S", "-c", source, str(self.root)]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout

    def read(self):
        """The fact."""
        return board.parse(self.print())

    def capabilities(self, address, port, acs=None, resizable=None):
        """The configuration space of one device is another."""
        self.change(address, "config", space(port, acs, resizable))

    def windows(self, address, index, size):
        """A GPU's window into its memory has that size."""
        self.change(address, "resource", gpu_windows(index, size))


def windows(*bars):
    """A `resource` file: of each window its first address, size and flags; None for one without."""
    rows = [(first, first + size - 1 if size else 0, flags) for first, size, flags in bars]
    return "".join(f"{first:#018x} {last:#018x} {flags:#018x}\n" for first, last, flags in rows)


def gpu_windows(index, size=128 * GIB):
    """Three windows of a GPU: registers, memory, and the third."""
    base = (0x20 << 40) + index * (1 << 38)
    none = (0, 0, 0)
    return windows(
        (0x90000000 + index * (16 << 20), 16 << 20, MEMORY), (base, size, WIDE), none,
        (base + (1 << 37), 32 << 20, WIDE), none, none,
    )  # fmt: skip


def hgx(root, *, gpus=8, redirect=0, maker="Dell Inc.", model="PowerEdge XE9680", processor="GenuineIntel"):
    """Two sockets; each GPU on a switch of its own with its adapter; a disk, and a screen as boards have it."""
    tree = Tree(root)
    for name, text in {
        "sys_vendor": maker,
        "product_name": model,
        "board_vendor": maker,
        "bios_vendor": maker,
    }.items():
        tree.put(f"sys/class/dmi/id/{name}", text + "\n")
    tree.put("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/md0 ro quiet\n")
    tree.put("proc/cpuinfo", "\n".join(
        f"processor : {cpu}\nvendor_id : {processor}\nphysical id : {cpu % 2}\nflags : fpu vme\n" for cpu in range(4)
    ))  # fmt: skip
    for node in range(2):
        tree.put(f"sys/devices/system/node/node{node}/cpulist", f"{node * 56}-{node * 56 + 55}\n")
    for index in range(gpus):
        _gpu_and_adapter(tree, index, index * 2 // gpus, redirect)
    tree.device("0000:02:00.0", ["pci0000:00"], "0x030000", ASPEED, numa=0, config=space(""), width=1)
    tree.device(
        "0000:f0:01.0", ["pci0000:f0"], "0x060400", INTEL, numa=1, config=space("root", acs=0), width=4
    )
    tree.device(
        "0000:f1:00.0", ["pci0000:f0", "0000:f0:01.0"], "0x010802", SAMSUNG, numa=1, config=space(""), width=4
    )
    return tree


def _gpu_and_adapter(tree, index, node, redirect):
    bus = 0x10 + index * 0x10
    root, up, down, other = (
        f"0000:{bus + step:02x}:{port:02x}.0" for step, port in ((0, 1), (1, 0), (2, 0), (2, 1))
    )
    host = f"pci0000:{bus:02x}"
    for address, above, port in (
        (root, [host], "root"), (up, [host, root], "up"),
        (down, [host, root, up], "down"), (other, [host, root, up], "down"),
    ):  # fmt: skip
        acs = redirect if port == "down" else 0 if port == "root" else None
        tree.device(address, above, "0x060400", BROADCOM, numa=node, config=space(port, acs))
    window = (1, 128 * GIB, 128 * GIB)
    tree.device(
        f"0000:{bus + 3:02x}:00.0", [host, root, up, down], "0x030200", NVIDIA, numa=node,
        config=space("", resizable=window), resource=gpu_windows(index), sriov_totalvfs="16", sriov_numvfs="0",
        current_link_speed="2.5 GT/s PCIe",  # idle
    )  # fmt: skip
    nic = f"0000:{bus + 4:02x}:00.0"
    tree.device(
        nic, [host, root, up, other], "0x020700", MELLANOX, numa=node, config=space(""),
        sriov_totalvfs="16", sriov_numvfs="0",
    )  # fmt: skip
    tree.put(f"{tree.places[nic]}/infiniband/mlx5_{index}/node_type", "1: CA\n")
    tree.put(f"sys/bus/pci/slots/{30 + index}/address", f"0000:{bus + 3:02x}:00\n")


@pytest.fixture
def tree(tmp_path):
    """A board without a fault."""
    return hgx(tmp_path)


@pytest.fixture
def made(tmp_path):
    """`made(...)`: a board of another maker, or with fewer GPUs."""
    return lambda name="other", **choice: hgx(tmp_path / name, **choice)


def load(tmp_path, put=()):
    """A host of the HGX example, its file with these words put in."""
    text = (ROOT / "examples/hgx/cluster.yaml").read_text()
    for old, new in put:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    cluster = load_cluster(path)
    return HostSpec(cluster, next(host for host in cluster.hosts() if host.group.gpus))


@pytest.fixture
def want(tmp_path_factory):
    """`want(put)`: what such a file wants of a host."""
    return lambda *put: load(tmp_path_factory.mktemp("want"), put)


def judged(want, check, have):
    """Every verdict of a check."""
    found = CHECKS[check].judge(want, have)
    return [found] if isinstance(found, Verdict) else list(found)


@pytest.fixture(scope="session")
def judge():
    """`judge(want, check, have)`: every verdict of a check."""
    return judged


@pytest.fixture(scope="session")
def not_green():
    """`not_green(want, have)`: what is found by every check of the board, with the check's name."""
    green = (Status.OK, Status.SKIPPED)

    def look(want, have):
        return [(name, v) for name in OF_THE_BOARD for v in judged(want, name, have) if v.status not in green]

    return look
