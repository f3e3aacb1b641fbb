"""Hosts as their kernels show them: written from the formats of sysfs (Documentation/ABI, sysfs-class-infiniband)."""

import json
import os

import pytest

from clusterwright.onhost.provision.host import LocalHost

# What a driver fills its table with, per port: type and address; `fe80` first, then each address for either version.
NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


def mapped(ipv4):
    """The GID of an IPv4 address."""
    parts = [f"{int(part):02x}" for part in ipv4.split(".")]
    return f"0000:0000:0000:0000:0000:ffff:{parts[0]}{parts[1]}:{parts[2]}{parts[3]}"


def roce_gids(*ipv4, ipv6=()):
    """As mlx5 fills it: link-local, then IPv6, then IPv4, each for version 1 and 2."""
    local = ["fe80:0000:0000:0000:ba59:9fff:fe00:0001", *ipv6, *map(mapped, ipv4)]
    return [(gid, kind) for gid in local for kind in ("IB/RoCE v1", "RoCE v2")]


class Kernel:
    """A folder that stands for a host, and what `ip` says there."""

    def __init__(self, root, folder):
        self.root, self._links, self._folder = root, {}, folder
        self.say()

    gids = staticmethod(roce_gids)

    def say(self):
        """Of interfaces that have addresses."""
        rows = [
            {"ifname": name, "addr_info": [{"family": "inet", "local": one} for one in local]}
            for name, local in self._links.items()
        ]
        text = json.dumps(rows)
        program = self._folder / "ip"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        program.chmod(0o755)

    def link(self, name, *addresses):
        """An interface with its addresses."""
        self._links[name] = addresses
        self.say()

    def put(self, path, text):
        """A file."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n")

    def pci(self, path, **files):
        """A device of the PCI tree, by its path from the root complex: `pci0000:15/0000:15:01.0/0000:18:00.0`."""
        place = f"/sys/devices/{path}"
        for name, text in files.items():
            self.put(f"{place}/{name}", text)
        bus = self.root / "sys/bus/pci/devices"
        bus.mkdir(parents=True, exist_ok=True)
        for part in path.split("/")[1:]:
            if not (bus / part).is_symlink():
                (bus / part).symlink_to(os.path.relpath(f"{self.root}{place.partition(part)[0]}{part}", bus))
        return place

    def port(self, device, *, pci="", number=1, gids=(), link="", layer="Ethernet", **other):
        """A port of an RDMA device."""
        there = f"/sys/class/infiniband/{device}"
        place = self.pci(
            pci
            or f"pci0000:00/0000:{len(list((self.root / 'sys/class/infiniband').iterdir())) + 16:02x}:00.0",
            vendor="0x15b3",
            **{"class": "0x020000"},
        )
        (self.root / there.lstrip("/")).mkdir(exist_ok=True)
        if not (self.root / f"{there}/device".lstrip("/")).is_symlink():
            (self.root / f"{there}/device".lstrip("/")).symlink_to(f"{self.root}{place}")
        self.put(f"{there}/node_type", other.get("node", "1: CA"))
        here = f"{there}/ports/{number}"
        self.put(f"{here}/link_layer", layer)
        self.put(f"{here}/state", other.get("state", "4: ACTIVE"))
        self.put(f"{here}/rate", other.get("rate", "400 Gb/sec (4X NDR)"))
        for index, (gid, kind) in enumerate([*gids, (NO_GID, "")]):
            self.put(f"{here}/gids/{index}", gid)
            if kind:
                self.put(f"{here}/gid_attrs/types/{index}", kind)
                self.put(f"{here}/gid_attrs/ndevs/{index}", link)
        for name in [link] if link and not other.get("slaves") else other.get("slaves", ()):
            self.put(f"{place}/net/{name}/dev_port", "0")


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A host without any device; `ip` is a program of ours."""
    (tmp_path / "programs").mkdir()
    (tmp_path / "host/sys/class/infiniband").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{tmp_path}/programs:{os.environ['PATH']}")
    return Kernel(tmp_path / "host", tmp_path / "programs")


NETWORK = {
    "name": "compute", "kind": "roce", "subnet": "10.20.0.0/16", "rails": 4, "gbits": 400.0, "mtu": 9000,
    "fabric": "rail-optimized", "others": ["10.10.0.0/16", "10.30.0.0/16"], "nics": [], "group": "h100",
}  # fmt: skip
GIVEN = {
    "addresses": {"compute": "10.20.0.1", "management": "10.10.0.1"},
    "variables": {}, "topology": "", "nccl": [2, 27], "reason": "",
    "roce": {"priority": 3, "dscp": 26, "ecn": True, "cnp_dscp": 48},
}  # fmt: skip


@pytest.fixture
def worked_out(kernel):
    """`worked_out(program, network=..., given=...)`: the lines that say something, and the notes."""

    def work(program, network=(), given=()):
        notes = []
        words = {**GIVEN, "network": {**NETWORK, **dict(network)}, **dict(given)}
        text = program.text(LocalHost({"root": str(kernel.root), "resources": []}), words, notes)
        lines = text.splitlines() if text is not None else None
        return [line for line in lines if line and not line.startswith("#")] if lines else lines, notes

    return work
