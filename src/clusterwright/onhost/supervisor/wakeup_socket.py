"""Signals wake who waits in a selector: without this, Python runs their handlers and waits on (PEP 475)."""

from __future__ import annotations

import signal
import socket
from typing import List

_ENDS: List[socket.socket] = []


def open_wakeup_socket() -> socket.socket:
    """Readable after a signal that has a handler; one for this process, of its main thread."""
    if not _ENDS:
        ours, pythons = socket.socketpair()
        for end in (ours, pythons):
            end.setblocking(False)  # noqa: FBT003 (the socket's own signature)
        signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
        _ENDS.extend((ours, pythons))
    return _ENDS[0]


def drain() -> None:
    """What has been is known; the next signal makes it readable again."""
    try:
        while open_wakeup_socket().recv(4096):
            pass
    except BlockingIOError:
        return
