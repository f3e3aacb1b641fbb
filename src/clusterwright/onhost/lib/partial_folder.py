"""The folder of an unfinished conversion beside its target, where another user may be able to rename and create files.

It is opened once, without following links: what another user puts in its place is neither written nor removed.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

LOCK = "conversion.lock"  # locked while the conversion runs; no other program has a file of this name
_PREFIX = ".partial-"


class PartialFolder:
    """A private folder `.partial-TARGET-RANDOM`, without those of conversions that were killed."""

    def __init__(self, target: Path) -> None:
        """Create the folder.

        Raises:
            OSError: it cannot be created.
        """
        self._target = target.name
        self._parent = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _remove_leftovers(self._parent)
            self._name = f"{_PREFIX}{target.name}-{secrets.token_hex(4)}"
            os.mkdir(self._name, 0o700, dir_fd=self._parent)
            self._handle = _open_folder(self._name, self._parent)
            self._lock = _lock(self._handle)
        except OSError:
            os.close(self._parent)
            raise
        self.path = Path(_of_handle(self._handle))

    def commit(self, name: str) -> None:
        """Rename a file or folder of this folder to the target, durably."""
        os.replace(name, self._target, src_dir_fd=self._handle, dst_dir_fd=self._parent)
        os.fsync(self._parent)

    def remove(self) -> None:
        """Remove the folder and close it; what cannot be removed stays."""
        _remove(self._name, self._handle, self._lock, self._parent)
        os.close(self._handle)
        os.close(self._parent)


def _open_folder(name: str, parent: int) -> int:
    """Open a folder of this process's user in `parent`, and return its file descriptor; links are not followed.

    Raises:
        OSError: it is a link, no folder, or another user's.
    """
    handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    if os.fstat(handle).st_uid != os.geteuid():
        os.close(handle)
        raise PermissionError(f"{name} belongs to another user")
    return handle


def _lock(folder: int) -> int:
    """Create and lock the lock file of a folder, and return its descriptor; it has its name only once it is locked.

    On a file system without locks it stays unlocked.
    """
    handle = os.open(".lock", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with suppress(OSError):  # a file system without locks: the folder of a killed conversion stays
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(".lock", LOCK, src_dir_fd=folder, dst_dir_fd=folder)
    return handle


def _remove_leftovers(parent: int) -> None:
    """Remove folders of conversions that were killed: own folders whose lock file no process locks."""
    for name in os.listdir(parent):
        if name.startswith(_PREFIX):
            with suppress(OSError):
                _remove_leftover(name, parent)


def _remove_leftover(name: str, parent: int) -> None:
    handle = _open_folder(name, parent)
    try:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        lock = os.open(LOCK, flags, dir_fd=handle)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
        _remove(name, handle, lock, parent)
    finally:
        os.close(handle)


def _remove(name: str, handle: int, lock: int, parent: int) -> None:
    """Remove an open folder with its content, the lock last, so that the next conversion finds what a kill leaves.

    What cannot be removed stays.
    """
    for entry in os.listdir(handle):
        if entry != LOCK:
            _remove_entry(f"{_of_handle(handle)}/{entry}")
    os.close(lock)
    with suppress(OSError):
        os.unlink(LOCK, dir_fd=handle)
    with suppress(OSError):  # another folder has the name by now
        os.rmdir(name, dir_fd=parent)


def _remove_entry(path: str) -> None:
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink()


def _of_handle(handle: int) -> str:
    return f"/proc/self/fd/{handle}"
