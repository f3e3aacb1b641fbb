"""Files that somebody else may have written: read with a limit, and only where they are regular files.

A pipe would block who opens it, a link may lead to a file that only we can read, a device never ends. Standard library
only, Python 3.6 or later.
"""

import json
import os
import stat
from contextlib import contextmanager
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Union

MiB = 1 << 20
TEXT_BYTES = 16 * MiB  # of a text that is read as a whole
DOCUMENT_BYTES = 4 * MiB  # of a JSON document; ours have some kilobytes
ENTRIES = 100000  # of a folder
Path = Union[str, "os.PathLike[str]"]


class UnsafeFileError(OSError):
    """What lies there is not read: no regular file, outside the folder, or too large."""


@contextmanager
def open_regular(path: Path, *, inside: Optional[Path] = None) -> Iterator[BinaryIO]:
    """Open a regular file to read it; never block, never follow a link in its place.

    With `inside`, no link in a folder above it leads out of that folder either: for a reader who is root.

    Raises:
        UnsafeFileError: it is a link, a pipe, a device, a folder, or lies outside.
        OSError: it cannot be opened.
    """
    refuse_irregular(path, os.lstat(path).st_mode)  # opening a device can already do something
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        refuse_irregular(path, os.fstat(handle).st_mode)  # it may be another one by now
        if inside is not None:
            _refuse_outside(os.readlink("/proc/self/fd/%d" % handle), inside)
    except BaseException:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as file:
        yield file


def refuse_irregular(path: Path, mode: int) -> None:
    """Raise UnsafeFileError for all but a regular file."""
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
    """Whether a regular file lies there; a link to one is none."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def read_bytes(path: Path, limit: int = TEXT_BYTES, *, inside: Optional[Path] = None) -> bytes:
    """Read a file as a whole.

    Raises:
        UnsafeFileError: it is no regular file, or larger than the limit.
        OSError: it cannot be read.
    """
    with open_regular(path, inside=inside) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise UnsafeFileError("%s is larger than %d bytes" % (path, limit))
        return file.read(size)


def read_text(path: Path, limit: int = TEXT_BYTES, *, inside: Optional[Path] = None) -> str:
    """Read a file as a whole; signs that are not UTF-8 are replaced. Raises as `read_bytes`."""
    return read_bytes(path, limit, inside=inside).decode("utf-8", "replace")


def text_or_empty(path: Path, limit: int = TEXT_BYTES) -> str:
    """The text of a file; empty where none can be read."""
    try:
        return read_text(path, limit)
    except OSError:
        return ""


def read_object(path: Path, limit: int = DOCUMENT_BYTES, *, inside: Optional[Path] = None) -> Dict[str, Any]:
    """The JSON object in a file; empty where there is none, or where it is torn."""
    try:
        return parse_object(read_text(path, limit, inside=inside))
    except OSError:
        return {}


def parse_object(data: Union[bytes, str]) -> Dict[str, Any]:
    """A JSON object; empty for anything else, a line of brackets included."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def read_part(path: Path, size: int, offset: int = 0, *, inside: Optional[Path] = None) -> bytes:
    """At most `size` bytes from an offset on; a negative one counts from the end.

    Raises:
        UnsafeFileError: it is no regular file.
        OSError: it cannot be read.
    """
    with open_regular(path, inside=inside) as file:
        end = os.fstat(file.fileno()).st_size
        start = max(0, end + offset) if offset < 0 else offset
        file.seek(start)
        return file.read(
            max(0, min(size, end - start))
        )  # `read` reserves memory for all that it is asked for


def list_folder(folder: Path, limit: int = ENTRIES) -> List[str]:
    """Names in a folder, sorted; no more of them than the limit, and none where it cannot be read."""
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
