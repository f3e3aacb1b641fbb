"""Read files that another user may have written: with a size limit, and only regular files.

A pipe would block the reader, a link may point to a file that only the reader can read, a device never ends.
Standard library only, Python 3.6 or later.
"""

import json
import os
import stat
from contextlib import contextmanager
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Union

from clusterwright.onhost.lib.numbers import json_integer

MiB = 1 << 20
TEXT_BYTES = 16 * MiB  # limit for a text file
DOCUMENT_BYTES = 4 * MiB  # limit for a JSON document; ours have a few kilobytes
ENTRIES = 100000  # limit for the entries of a folder
Path = Union[str, "os.PathLike[str]"]


class UnsafeFileError(OSError):
    """The file is not regular, outside the folder, or too large, and was not read."""


@contextmanager
def open_regular(path: Path, *, inside: Optional[Path] = None) -> Iterator[BinaryIO]:
    """Open a regular file for reading; never block, never follow a link.

    With `inside`, the path must not leave that folder by a link in a parent folder either: for a reader that
    is root.

    Raises:
        UnsafeFileError: a link, a pipe, a device, a folder, or outside `inside`.
        OSError: the file cannot be opened.
    """
    refuse_irregular(path, os.lstat(path).st_mode)  # opening a device can already have an effect
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        refuse_irregular(path, os.fstat(handle).st_mode)  # the path may name another file by now
        if inside is not None:
            _refuse_outside(os.readlink("/proc/self/fd/%d" % handle), inside)
    except BaseException:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as file:
        yield file


def refuse_irregular(path: Path, mode: int) -> None:
    """Raise UnsafeFileError unless the mode is that of a regular file."""
    if not stat.S_ISREG(mode):
        kind = (
            "a symbolic link"
            if stat.S_ISLNK(mode)
            else "a folder"
            if stat.S_ISDIR(mode)
            else "a special file"
        )
        raise UnsafeFileError("%s is %s and should be a regular file" % (path, kind))


def _refuse_outside(path: str, folder: Path) -> None:
    if not path.startswith(os.path.realpath(folder).rstrip("/") + "/"):
        raise UnsafeFileError("%s lies outside %s" % (path, folder))


def is_regular(path: Path) -> bool:
    """Return True if the path is a regular file; a link to one is not."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def read_bytes(path: Path, limit: int = TEXT_BYTES, *, inside: Optional[Path] = None) -> bytes:
    """Read a whole file.

    Raises:
        UnsafeFileError: not a regular file, or larger than the limit.
        OSError: the file cannot be read.
    """
    with open_regular(path, inside=inside) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise UnsafeFileError("%s is larger than %d bytes" % (path, limit))
        return file.read(size)


def read_text(path: Path, limit: int = TEXT_BYTES, *, inside: Optional[Path] = None) -> str:
    """Read a whole file as UTF-8 with invalid bytes replaced; raises as `read_bytes`."""
    return read_bytes(path, limit, inside=inside).decode("utf-8", "replace")


def text_or_empty(path: Path, limit: int = TEXT_BYTES) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return read_text(path, limit)
    except OSError:
        return ""


def read_object(path: Path, limit: int = DOCUMENT_BYTES, *, inside: Optional[Path] = None) -> Dict[str, Any]:
    """Return the JSON object in a file; empty if it is missing or invalid."""
    try:
        return parse_object(read_text(path, limit, inside=inside))
    except OSError:
        return {}


def parse_object(data: Union[bytes, str]) -> Dict[str, Any]:
    """Parse a JSON object; empty for anything else, also for deep nesting and integers of more than 40 digits."""
    try:
        document = json.loads(data, parse_int=json_integer)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def read_part(path: Path, size: int, offset: int = 0, *, inside: Optional[Path] = None) -> bytes:
    """Read at most `size` bytes from an offset on; a negative offset counts from the end.

    Raises:
        UnsafeFileError: not a regular file.
        OSError: the file cannot be read.
    """
    with open_regular(path, inside=inside) as file:
        end = os.fstat(file.fileno()).st_size
        start = max(0, end + offset) if offset < 0 else offset
        file.seek(start)
        return file.read(max(0, min(size, end - start)))  # `read` allocates all requested bytes


def list_folder(folder: Path, limit: int = ENTRIES) -> List[str]:
    """Return the sorted names in a folder, at most `limit`; none if it cannot be read."""
    names = []  # type: List[str]
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(names) >= limit:
                    break
                names.append(entry.name)
    except OSError:
        return []
    return sorted(names)
