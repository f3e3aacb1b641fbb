"""Durable writes and the comparable state of a path.

Standard library only, Python 3.6 or later.
"""

import os
import stat
from hashlib import sha256

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.provision.host import Json, read


def state_of(path: str) -> Json:
    """Return a path's state for a later comparison: its kind, and mode, owner, SHA-256 or link target.

    The kind is none, file, directory, link or other.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return {"kind": "none"}
    if stat.S_ISLNK(status.st_mode):
        return {"kind": "link", "target": os.readlink(path)}
    row = {"mode": stat.S_IMODE(status.st_mode), "uid": status.st_uid, "gid": status.st_gid}
    if stat.S_ISDIR(status.st_mode):
        return dict(row, kind="directory")
    if not stat.S_ISREG(status.st_mode):
        return dict(row, kind="other")
    return dict(row, kind="file", sha256=sha256(read(path) or b"").hexdigest())


def write_private(path: str, data: bytes) -> None:
    """Write a file atomically with mode 0600."""
    write_atomic(path, data, mode=0o600)


def sync_disk(path: str) -> None:
    """Sync the whole file system of the path, which for many files is faster than one fsync each."""
    import ctypes

    handle = os.open(path, os.O_RDONLY)
    try:
        syncfs = getattr(ctypes.CDLL(None), "syncfs", None)
        if syncfs is None or syncfs(handle) != 0:
            os.sync()
    finally:
        os.close(handle)
