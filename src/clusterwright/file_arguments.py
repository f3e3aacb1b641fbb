"""Open files that a user names: regular files and descriptors of the caller, which neither block nor never end."""

from __future__ import annotations

import errno
import os
import re
import stat
from io import BufferedReader
from pathlib import Path

from clusterwright.i18n import _

# Of the caller, such as that of `<(command)`.
DESCRIPTOR = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/[0-9]+")
MOST_BYTES = 1 << 30  # of a file that is read whole


def open_argument(path: str | Path) -> BufferedReader:
    """Open a file named by a user for reading, and return it.

    Raises:
        OSError: it cannot be opened, or is a folder, a pipe, a device or a socket; `strerror` has the reason.
    """
    if DESCRIPTOR.fullmatch(str(path)):
        return Path(path).open("rb")
    _require_regular(Path(path).stat().st_mode)  # before it is opened, which can change a device
    # A pipe in its place does not block either.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _require_regular(os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_argument(path: str | Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file, at most `most_bytes`; raises as `open_argument`."""
    with open_argument(path) as file:
        return file.read(most_bytes)


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISFIFO(mode):
        raise OSError(errno.EINVAL, _("the path is a pipe, for which the command would wait"))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, _("the path is not a regular file"))
