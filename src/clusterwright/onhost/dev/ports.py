"""Ports of the loopback address of this host."""

from __future__ import annotations

import socket


def free(preferred_port: int = 0) -> int:
    """The wanted port if nobody has it, else one that nobody has; 0 wants none in particular."""
    for port in (preferred_port, 0):
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(sock.getsockname()[1])
    raise OSError("this host has no free port on 127.0.0.1")


def answers(port: int) -> bool:
    """True when somebody listens there."""
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0
