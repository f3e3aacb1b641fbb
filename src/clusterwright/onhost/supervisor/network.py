"""IPv4 addresses and free ports of this host."""

from __future__ import annotations

import errno
import fcntl
import ipaddress
import secrets
import socket
import struct
from typing import Dict, Optional

from clusterwright.onhost.lib.ports import RUN_PORTS

SIOCGIFADDR = 0x8915  # netdevice(7)
IFREQ_BYTES = 40  # sizeof(struct ifreq) on 64-bit Linux

FIRST_PORT, LAST_PORT = RUN_PORTS


def interfaces() -> Dict[str, str]:
    """Return the first IPv4 address of each network interface of this host, by name."""
    addresses = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack(f"{IFREQ_BYTES}s", name.encode())
            try:
                answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)
            except OSError:  # an interface without an IPv4 address
                continue
            addresses[name] = socket.inet_ntoa(answer[20:24])
    return addresses


def inside(subnet: str, have: Dict[str, str]) -> Optional["tuple[str, str]"]:
    """Return name and address of the first interface inside the subnet, loopback last; None if this host has none.

    `have` are the addresses by interface.
    """
    network = ipaddress.ip_network(subnet)
    for name, address in sorted(have.items(), key=lambda item: item[1].startswith("127.")):
        if ipaddress.ip_address(address) in network:
            return name, address
    return None


def listen(address: str, backlog: int = 1024) -> socket.socket:
    """Return a socket that listens on a free port of the range; the port is chosen at random.

    Raises:
        OSError: no port of the range is free, or the address is not this host's.
    """
    count = LAST_PORT - FIRST_PORT + 1
    seed = secrets.randbelow(count)
    for offset in range(count):
        listener = _bound(address, FIRST_PORT + (seed + offset) % count, backlog)
        if listener:
            return listener
    raise OSError(f"no port from {FIRST_PORT} to {LAST_PORT} is free on {address}")


def listen_inside(subnet: str) -> socket.socket:
    """Return a socket that listens on this host's address inside the subnet, on a free port.

    Raises:
        OSError: this host has no address there.
    """
    interface = inside(subnet, interfaces())
    if interface is None:
        raise OSError(f"no address inside the network {subnet}")
    return listen(interface[1])


def _bound(address: str, port: int, backlog: int) -> Optional[socket.socket]:
    """Return a socket that listens on address and port; None if the port is in use."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(backlog)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return listener


def free_port(address: str) -> int:
    """Return a TCP port of the address that is free now, for a program that binds it; another may bind it first."""
    with listen(address) as listener:
        return int(listener.getsockname()[1])
