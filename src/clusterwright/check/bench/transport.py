"""Which transport carried the bytes, read from NCCL, iperf3 and the kernel's counters; pure.

A figure of the wrong transport measures something else: the transport is checked before the figure counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

# NCCL's INFO lines, 2.8 to 2.27 (src/transport/net_ib.cc, net_socket.cc, nvls.cc, graph/connect.cc):
#   NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
#   NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
#   NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA
#   NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
_USING = re.compile(r"NET/(\w+) : Using (.*)")
_DEVICE = re.compile(r"\[\d+\]([\w.]+)(?::[^\s;]*)?")
_CHANNEL = re.compile(r"via (NET|P2P|SHM|COLLNET)(?:/(\w+))?(\S*)")
_GDR = "GDRDMA"


@dataclass(frozen=True, slots=True)
class Transport:
    """Between hosts: `NET/IB`, `NET/Socket` or empty, its devices; then the transports within a host."""

    net: str = ""
    devices: tuple[str, ...] = ()
    gdr: bool | None = None  # None: the log shows no channel over the network
    inside: tuple[str, ...] = ()  # P2P, SHM: within a host
    nvls: bool = False

    def __str__(self) -> str:
        parts = [
            self.net,
            ",".join(self.devices),
            {True: "GDRDMA", False: "no GDRDMA"}.get(self.gdr or False, ""),
        ]
        if self.gdr is None:
            parts.pop()
        return " ".join(part for part in (*parts, *self.inside, "NVLS" if self.nvls else "") if part)


def of_nccl(lines: Iterable[str]) -> Transport:
    """Parse the transport from the lines that NCCL_DEBUG=INFO prints; of several networks the last counts."""
    net, devices, over_net, inside, nvls = "", (), [], set(), False
    for line in lines:
        if using := _USING.search(line):
            net = f"NET/{using[1]}"
            devices = tuple(_DEVICE.findall(using[2].partition("; OOB")[0]))
        elif channel := _CHANNEL.search(line):
            if channel[1] == "NET":
                over_net.append(_GDR in channel[3])
            else:
                inside.add(channel[1])
        nvls = nvls or "NVLS comm" in line or "NVLS multicast support is available" in line
    return Transport(net, devices, all(over_net) if over_net else None, tuple(sorted(inside)), nvls)


def strangers(ends: Iterable[tuple[str, str]], subnet: IPv4Network) -> tuple[str, ...]:
    """Return the addresses at the ends of connections that are not in the subnet of the network to be measured.

    Empty if all are.
    """
    addresses = dict.fromkeys(address for pair in ends for address in pair)
    return tuple(address for address in addresses if IPv4Address(address) not in subnet)


def carrier(bytes_by_interface: Mapping[str, float]) -> str:
    """Return the interface that carried most bytes; empty if none carried any."""
    busiest = max(bytes_by_interface, key=lambda name: bytes_by_interface[name], default="")
    return busiest if bytes_by_interface.get(busiest) else ""
