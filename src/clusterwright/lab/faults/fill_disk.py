"""Full disk of a host, to the last block and for root too; undo frees the space."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS: tuple[str, ...] = ()
LASTS = True
_CHUNK_BYTES = 2**20
_AT_ONCE = 0.98  # share written at once: the block map needs some space; the rest is written block by block


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Fill the host's disk with a file outside its root; return the lab's state.

    This machine's own disk keeps its space.
    """
    path = _filler(lab, host)
    disk = os.statvfs(path.parent)
    with path.open("ab", buffering=0) as file:
        with suppress(OSError):
            os.posix_fallocate(file.fileno(), file.tell(), int(disk.f_bavail * disk.f_frsize * _AT_ONCE))
        for size in (_CHUNK_BYTES, disk.f_frsize):
            _write_until_full(file.fileno(), size)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Delete the file that fills the disk, if it is there; return the lab's state."""
    _filler(lab, host).unlink(missing_ok=True)
    return lab


def _write_until_full(handle: int, size: int) -> None:
    os.lseek(handle, 0, os.SEEK_END)
    while True:
        try:
            os.write(handle, bytes(size))
        except OSError as error:
            if error.errno == errno.ENOSPC:
                return
            raise


def _filler(lab: LabState, host: LabHost) -> Path:
    return lab.host_folder(host.name) / "disk" / "filler"
