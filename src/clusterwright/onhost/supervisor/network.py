"""This host's addresses and ports, as the kernel says them."""

from __future__ import annotations

import errno
import fcntl
import ipaddress
import socket
import struct
from typing import Dict, Optional

SIOCGIFADDR = 0x8915  # netdevice(7)
IFREQ_BYTES = 40  # sizeof(struct ifreq) on 64-bit Linux

# Ports of ours: above 10,000 where site services live less, under Linux's ephemeral range (32768 to 60999), Slurm's
# daemons (6817 to 6819) and the srun ports of the cluster file (60001 to 63000).
FIRST_PORT, LAST_PORT = 20000, 27999


def interfaces() -> Dict[str, str]:
    """Interface name to its first IPv4 address; blind to further addresses of the same interface."""
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
    """The interface and the address of it that lie inside the network; None when this host is not on it."""
    network = ipaddress.ip_network(subnet)
    for name, address in have.items():
        if ipaddress.ip_address(address) in network:
            return name, address
    return None


def listen(address: str, seed: int, backlog: int = 1024) -> socket.socket:
    """A socket that listens on a port of our range; runs with different seeds begin at different places.

    Raises:
        OSError: no port of the range is free, or the address is not this host's.
    """
    count = LAST_PORT - FIRST_PORT + 1
    for offset in range(count):
        listener = _bound(address, FIRST_PORT + (seed + offset) % count, backlog)
        if listener:
            return listener
    raise OSError(f"no port from {FIRST_PORT} to {LAST_PORT} is free on {address}")


def listen_inside(subnet: str, seed: int) -> socket.socket:
    """The same, on this host's address inside the network.

    Raises:
        OSError: this host is not on it.
    """
    interface = inside(subnet, interfaces())
    if interface is None:
        raise OSError(f"no address inside the network {subnet}")
    return listen(interface[1], seed)


def _bound(address: str, port: int, backlog: int) -> Optional[socket.socket]:
    """The listening socket; None when somebody else has the port."""
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


def free_port(address: str, seed: int) -> int:
    """A port that could be listened on just now, for a program that binds it itself."""
    with listen(address, seed) as listener:
        return int(listener.getsockname()[1])
