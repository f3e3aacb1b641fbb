"""Shared SSH connections (ControlMaster): the first command on a host opens one, the next take 12 ms instead of 150.

An ssh process outside the host's control groups holds the connection; so code that kills a host or removes the lab
kills it. One that ended by itself later would remove the socket of its successor on the same path.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from clusterwright.lab.layout import tag

PERSIST_S = 60  # long enough for the pauses of a demonstration; nothing waits for its end


def folder(lab: str) -> Path:
    """Return the folder of the lab's ssh connection sockets; short, because a socket's path has 108 characters."""
    return Path("/run/clusterwright") / tag(lab)


def make(lab: str) -> None:
    """Create the lab's folder for the sockets of ssh connections."""
    folder(lab).mkdir(parents=True, exist_ok=True, mode=0o700)


def close(lab: str, address: str = "") -> None:
    """Kill the lab's shared ssh connections to that address, or all of them, and remove their sockets."""
    for pid in _masters(f"{folder(lab)}/{address}-" if address else f"{folder(lab)}/"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for socket in folder(lab).glob(f"{address}-*" if address else "*"):
        socket.unlink(missing_ok=True)


def _masters(prefix: str) -> Iterator[int]:
    """Yield the PIDs of ssh masters whose sockets' paths have that prefix: `ssh: PATH [mux]` is their command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # processes come and go
            name = path.read_bytes()
            if name.startswith(f"ssh: {prefix}".encode()) and b" [mux]" in name:
                yield int(path.parent.name)


def remove(lab: str) -> None:
    """Close all ssh connections of the lab and remove the folder of their sockets."""
    close(lab)
    shutil.rmtree(folder(lab), ignore_errors=True)
    with suppress(OSError):  # other labs may have sockets there
        folder(lab).parent.rmdir()
