"""Ports of the loopback address of this host."""

from __future__ import annotations

import os
import socket

LISTEN = "0A"  # of the state column in /proc/net/tcp
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def free(preferred_port: int = 0) -> int:
    """Return the preferred port of 127.0.0.1 if it is free, else any free one; 0 means no preference.

    Raises:
        OSError: no port is free.
    """
    for port in (preferred_port, 0):
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(sock.getsockname()[1])
    raise OSError("this host has no free port on 127.0.0.1")


def answers(port: int) -> bool:
    """Return True if a server listens on the port of 127.0.0.1."""
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0


def is_ours(port: int) -> bool:
    """Return True if this user's processes listen on the port, and no other user's do, on any address.

    Whoever sends a secret to a port checks this first: another user may have taken it.
    """
    owners = set()
    for table in TABLES:
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except OSError:  # a kernel without IPv6
            continue
        owners |= {
            int(row[7]) for row in rows if row[3] == LISTEN and int(row[1].rpartition(":")[2], 16) == port
        }
    return owners == {os.getuid()}
