"""Shared SSH connections: the first command on a host opens one, the next take 12 ms instead of 150.

The connection is held by a process of ssh's own, outside the host's control groups; so what kills a host or
takes the lab away closes it by its socket.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from clusterwright.edge.processes import run
from clusterwright.lab.layout import tag

PERSIST_S = 60  # long enough to span the pauses of a demonstration; nothing waits for its end


def folder(lab: str) -> Path:
    """Where the sockets are; short, because a socket's path has 108 letters at most (unix(7))."""
    return Path("/run/clusterwright") / tag(lab)


def make(lab: str) -> None:
    """There is a folder for sockets."""
    folder(lab).mkdir(parents=True, exist_ok=True, mode=0o700)


def close(lab: str, address: str = "") -> None:
    """The connections to that address, or all of the lab's, are closed."""
    for socket in folder(lab).glob(f"{address}-*" if address else "*"):
        run(("ssh", "-F", "/dev/null", "-O", "exit", "-o", f"ControlPath={socket}", "lab"), timeout_s=5)
        socket.unlink(missing_ok=True)


def remove(lab: str) -> None:
    """No connection is left, nor the folder."""
    close(lab)
    shutil.rmtree(folder(lab), ignore_errors=True)
    with suppress(OSError):  # other labs may have theirs
        folder(lab).parent.rmdir()
