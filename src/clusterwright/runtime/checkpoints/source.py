"""Sources of a part's bytes: a file, memory, or any class with the methods of `Source`."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, Protocol

from clusterwright.onhost.lib.safe_reader import UnsafeFileError, refuse_irregular


class Damaged(Exception):  # noqa: N818 (a property of a checkpoint, not a program error)
    """The stored bytes differ from what was saved, or are missing."""


class OtherFormat(Damaged):
    """The stored bytes have a format that this version does not read; nothing shows that they are damaged."""


class CheckpointSource(Protocol):
    """The bytes of one part.

    `read` raises Damaged when the bytes end early or differ from what was saved, and OSError when they cannot be
    read. A load reads forward only, so that a socket can be the source: all bytes of a whole part, or with gaps
    when only some tensors are loaded.
    """

    name: str

    def size(self) -> int:
        """Return the number of bytes of the checkpoint's part."""
        ...

    def read(self, start: int, into: memoryview) -> None:
        """Fill `into` with the bytes of the part from offset `start` on.

        Raises:
            Damaged: the bytes end early or differ from what was saved.
            OSError: they cannot be read.
        """
        ...

    def close(self) -> None:
        """Release the file, memory or connection of the part."""
        ...


def open_own_file(path: Path) -> Any:
    """Open a file of a checkpoint, unbuffered.

    A link of another user could lead to a file that only the reader can read, and a pipe would block.

    Raises:
        Damaged: it is missing, a link, or no regular file.
        OSError: it cannot be opened.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Damaged(f"{path.name} is missing") from None
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # ENXIO: a socket
            raise
        raise Damaged(f"{path.name} is not a regular file") from None
    file = os.fdopen(handle, "rb", buffering=0)
    try:
        refuse_irregular(path, os.fstat(handle).st_mode)
    except UnsafeFileError:
        file.close()
        raise Damaged(f"{path.name} is not a regular file") from None
    return file


class FileSource:
    """A file as a source."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._file: Any = open_own_file(path)

    def size(self) -> int:
        """Return the present size of the file in bytes."""
        return os.fstat(self._file.fileno()).st_size

    def read(self, start: int, into: memoryview) -> None:
        """Fill `into` with the file's bytes from offset `start` on, by as many calls as needed.

        Raises:
            Damaged: the file ends early.
        """
        offset = 0
        while offset < len(into):
            if not (count := os.preadv(self._file.fileno(), [into[offset:]], start + offset)):
                raise Damaged(f"{self.name} ends early")
            offset += count

    def close(self) -> None:
        """Close the file of the checkpoint's part."""
        self._file.close()


class MemorySource:
    """Memory as a source; it must not change while it is read."""

    def __init__(self, name: str, data: memoryview) -> None:
        self.name, self._data = name, data

    def size(self) -> int:
        """Return the number of bytes of the memory."""
        return len(self._data)

    def read(self, start: int, into: memoryview) -> None:
        """Copy the memory's bytes from offset `start` on to `into`.

        Raises:
            Damaged: the memory ends early.
        """
        if start + len(into) > len(self._data):
            raise Damaged(f"{self.name} ends early")
        into[:] = self._data[start : start + len(into)]

    def close(self) -> None:
        """Release the memoryview, so that the memory can be resized."""
        self._data.release()
