"""A socket that wakes a selector on a signal; without it, Python runs the handler and keeps waiting (PEP 475)."""

from __future__ import annotations

import signal
import socket
from typing import List

_ENDS: List[socket.socket] = []


def open_wakeup_socket() -> socket.socket:
    """Return the process's socket that is readable after a signal with a handler; call it in the main thread."""
    if not _ENDS:
        ours, pythons = socket.socketpair()
        for end in (ours, pythons):
            end.setblocking(False)  # noqa: FBT003 (the socket's own signature)
        signal.set_wakeup_fd(pythons.fileno(), warn_on_full_buffer=False)
        _ENDS.extend((ours, pythons))
    return _ENDS[0]


def drain() -> None:
    """Read the wake-up socket empty, so that only the next signal makes it readable."""
    try:
        while open_wakeup_socket().recv(4096):
            pass
    except BlockingIOError:
        return
