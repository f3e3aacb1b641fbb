"""Atomic file writes: a scratch file beside the target is renamed over it, so a reader sees the old or the new content.

Standard library only, Python 3.6 or later.
"""

import errno
import os
import stat
from contextlib import contextmanager
from typing import Any, Iterator, Optional, Tuple, Union

FULL = (errno.ENOSPC, errno.EDQUOT)  # errors of a full disk
SCRATCH = ".wright-"  # part of a scratch file's name: `.NAME.wright-RANDOM`
Path = Union[str, "os.PathLike[str]"]


def write_atomic(
    path: Path,
    data: Union[bytes, str],
    *,
    mode: Optional[int] = None,
    owner: Optional[Tuple[int, int]] = None,
    durable: bool = True,
) -> None:
    """Replace a file atomically; with `durable` the new content survives a crash of the host.

    Without `durable` nothing waits for the disk: for files rewritten every minute, and for network storage in
    a loop that must not block. Without `mode`, the mode is 0666 less the umask.

    Raises:
        OSError: the write failed; the old content stays.
    """
    try:
        with replacing(path, mode=mode, owner=owner, durable=durable) as file:
            file.write(data.encode() if isinstance(data, str) else data)
    except OSError as error:
        if error.filename is None:  # of a full disk: the error of a write names no file
            error.filename = os.fspath(path)
        raise


def append(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Append to a regular file, which is created if it is missing; never follow a link, never block.

    Raises:
        OSError: it cannot be written, or is a link, a pipe, a device or a folder.
    """
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "ab") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "should be a regular file", os.fspath(path))
        file.write(data)


@contextmanager
def replacing(
    path: Path, *, mode: Optional[int] = None, owner: Optional[Tuple[int, int]] = None, durable: bool = True
) -> Iterator[Any]:
    """Open a binary file for a `with` block; at its end the file replaces `path`, after an error it is removed.

    `file.name` is its path until then, for a program that checks it; flush it first.
    """
    scratch = scratch_path(path)
    # no other user may read a secret before its owner and mode are set
    initial_mode = 0o666 if mode is None else 0o600
    try:
        with open(
            scratch, "xb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, initial_mode)
        ) as file:
            yield file
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
        rename(scratch, path, durable=durable)
    except BaseException:
        remove(scratch)
        raise


def is_own_folder(path: Path) -> bool:
    """Return True for a folder, not a link, that belongs to this process's user.

    In a folder with the sticky bit nobody else but root can then exchange it.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def replace_link(path: Path, target: Path) -> None:
    """Create the symbolic link `path` to `target`, or replace it atomically."""
    scratch = scratch_path(path)
    try:
        os.symlink(target, scratch)
        rename(scratch, path, durable=False)
    except BaseException:
        remove(scratch)
        raise


def rename(source: Path, target: Path, *, durable: bool) -> None:
    """Rename a file or folder, replacing a file; with `durable` the new name survives a crash."""
    os.replace(source, target)
    if durable:
        sync_folder(os.path.dirname(target))


def remove(path: Path) -> None:
    """Remove a file; a missing one is no error."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, which makes the names in it durable."""
    handle = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def scratch_path(path: Path) -> str:
    """Return an unused random name beside the path, for a file that is renamed over it."""
    folder, name = os.path.split(os.fspath(path))
    return os.path.join(folder, ".%s%s%s" % (name, SCRATCH, os.urandom(4).hex()))
