"""Ports of the loopback address of this host."""

from __future__ import annotations

import socket


def free(preferred_port: int = 0) -> int:
    """Return the preferred port if it is free, else any free port; 0 means no preference."""
    for port in (preferred_port, 0):
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(sock.getsockname()[1])
    raise OSError("this host has no free port on 127.0.0.1")


def answers(port: int) -> bool:
    """Return True if a server listens on the port."""
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0
