"""Read files that another user may have written: with limits, and only regular files.

A pipe would block the reader, a link may point to a file that only the reader can read, a device never ends.
Root follows a link of another user only to what belongs to that user too. `reading_budget` bounds the time and the
bytes of everything that is read inside it.
Standard library only, Python 3.6 or later.
"""

import io
import json
import os
import re
import stat
import threading
import time
from contextlib import contextmanager
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Optional, Set, Tuple, Union

from clusterwright.onhost.lib.numbers import finite, json_integer

MiB = 1 << 20
TEXT_BYTES = 16 * MiB  # limit for a text file
DOCUMENT_BYTES = 4 * MiB  # limit for a JSON document; ours have a few kilobytes
# Limit for the results of reading all folders; who runs a program drops more than 64 MiB.
OUTPUT_BYTES = 32 * MiB
VALUES = 4000000  # of a JSON document: lists, objects and what they contain; 64 MiB of empty ones take 1.5 GB
DEPTH = 64  # of brackets in JSON: how much the parser itself takes depends on the Python and on the caller
RESULT_DEPTH = 32  # of a result that becomes a part of a document
ENTRIES = 100000  # limit for the entries of a folder
LINKS = 40  # that one path may lead through, as in the kernel
Path = Union[str, "os.PathLike[str]"]
# Also one without end, so that it takes linear time.
_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_NO_BRACKETS = re.compile(r"[^][{}]+")
_PIN = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC
_active = threading.local()
CONFINEMENT = "CLUSTERWRIGHT_CONFINEMENT"
# The folder of all files of users that this process reads, and a slash.
_confinement = os.environ.get(CONFINEMENT, "")


class UnsafeFileError(OSError):
    """The file is not regular, outside the folder, or too large, and was not read."""


class OverBudgetError(Exception):
    """Reading exceeded its budget of time or bytes; no OSError, so that it ends the reading of a whole source."""


# What reading and evaluating the files of another user can raise.
DATA_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    OverBudgetError,
    RecursionError,
    TypeError,
    ValueError,
)


class Budget:
    """The seconds and bytes that remain for reading one source; several `reading_budget` blocks may share it."""

    def __init__(self, seconds: float, size: int, output: int = OUTPUT_BYTES) -> None:
        self.seconds, self.size, self.output = seconds, size, output

    def charge(self, seconds: float, size: int) -> None:
        """Subtract used seconds and bytes.

        Raises:
            OverBudgetError: nothing remains.
        """
        self.seconds, self.size = self.seconds - seconds, self.size - size
        if self.seconds < 0 or self.size < 0:
            raise OverBudgetError("it takes too %s to read" % ("long" if self.seconds < 0 else "many bytes"))

    def charge_output(self, result: Any) -> None:
        """Subtract the bytes of a result in JSON, which is part of a document with the results of other users.

        Raises:
            OverBudgetError: fewer remain.
            ValueError: `parse_document` would refuse it, and with it the document.
        """
        text = json.dumps(result, default=str)
        if len(text) > self.output:
            raise OverBudgetError("its data take too many bytes")
        parse_document(text, depth=RESULT_DEPTH)
        self.output -= len(text)


@contextmanager
def reading_budget(budget: Budget) -> Iterator[None]:
    """Charge all reading of this thread in a `with` block to the budget, with the time that passes.

    Raises:
        OverBudgetError: from any function of this module, once nothing remains.
    """
    outer = getattr(_active, "meter", None)
    meter = _active.meter = _Meter(budget)
    try:
        meter.charge(0)
        yield
    finally:
        _active.meter = outer
        budget.seconds -= meter.lap()


class _Meter:
    def __init__(self, budget: Budget) -> None:
        self._budget, self._since = budget, time.monotonic()

    def lap(self) -> float:
        """Return the seconds since the last call, or since the meter began."""
        since, self._since = self._since, time.monotonic()
        return self._since - since

    def charge(self, size: int) -> None:
        """Charge the time since the last call, and these bytes."""
        self._budget.charge(self.lap(), size)


def confine(folder: Path) -> None:
    """From now on this process reads, of the files of users, only those in the folder; links do not lead out of it."""
    global _confinement  # noqa: PLW0603 (it holds for the whole process, and is never lifted)
    _confinement = os.path.realpath(folder).rstrip("/") + "/"


def confined(*argv: str) -> Tuple[str, ...]:
    """Return the command line of a child that reads files of users for this process, confined as it is."""
    return ("env", CONFINEMENT + "=" + _confinement, *argv) if _confinement else argv


def _charge(size: int = 0) -> None:
    meter = getattr(_active, "meter", None)
    if meter:
        meter.charge(size)


class _Charged(io.FileIO):
    """A file whose bytes are charged to the active budget."""

    def readinto(self, into: Any) -> Any:
        """Read from the file into the buffer and charge the bytes to the budget; return their number."""
        count = super().readinto(into)
        _charge(count or 0)
        return count


@contextmanager
def open_regular(path: Path, *, inside: Optional[Path] = None) -> Iterator[BinaryIO]:
    """Open a regular file for reading during a `with` block; never block, never follow a link to it.

    With `inside`, the path must not leave that folder by a link in a parent folder either.

    Raises:
        UnsafeFileError: a link, a pipe, a device, a folder, outside `inside`, or for root another user's link to it.
        OSError: the file cannot be opened.
    """
    with pin(path, os.O_NOFOLLOW) as place:
        refuse_irregular(path, os.fstat(place).st_mode)  # opening a device can have an effect, a pin has none
        if inside is not None:
            _refuse_outside(location(place), inside)
        file = _Charged(os.open(_of_handle(place), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))
    with io.BufferedReader(file) as reader:
        yield reader


def refuse_irregular(path: Path, mode: int) -> None:
    """Raise UnsafeFileError unless the mode is that of a regular file."""
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder"}
        kind = kinds.get(stat.S_IFMT(mode), "a special file")
        raise UnsafeFileError("%s is %s and should be a regular file" % (path, kind))


def _refuse_outside(path: str, folder: Path) -> None:
    if not path.startswith(os.path.realpath(folder).rstrip("/") + "/"):
        raise UnsafeFileError("%s lies outside %s" % (path, folder))


def _of_handle(handle: int) -> str:
    return "/proc/self/fd/%d" % handle


def location(handle: int) -> str:
    """Return the path of a file that `pin` holds open, without symbolic links."""
    return os.readlink(_of_handle(handle))


@contextmanager
def pin(path: Path, flags: int = 0) -> Iterator[int]:
    """Yield a handle of the file that a path names now, whatever is renamed or linked meanwhile.

    The handle opens nothing, so a pipe or a device has no effect. `flags`: O_NOFOLLOW, O_DIRECTORY.

    Raises:
        UnsafeFileError: for root, the path follows another user's link to what is not that user's; or it leads out of
            the folder to which this process is confined.
        OSError: it is missing.
    """
    _charge()
    handle = os.open(path, _PIN | flags)
    try:
        if _confinement and not (location(handle) + "/").startswith(_confinement):
            raise UnsafeFileError("%s lies outside %s" % (path, _confinement))
        if os.geteuid() == 0 and location(handle) != os.path.abspath(path):  # it followed links
            os.close(handle)
            handle = -1
            handle, owners = _walk(os.fspath(path), flags)
            owner = os.fstat(handle).st_uid
            if owners - {owner}:
                raise UnsafeFileError("%s: a link of another user leads to a file of user %d" % (path, owner))
        yield handle
    finally:
        if handle >= 0:
            os.close(handle)


def _refuse_unreached(path: str, mode: int, flags: int, names: List[str]) -> None:
    if names:
        raise UnsafeFileError("%s leads through too many links" % path)
    if flags & os.O_DIRECTORY and not stat.S_ISDIR(mode):
        raise NotADirectoryError(20, "Not a directory", path)


def _walk(path: str, flags: int) -> Tuple[int, Set[int]]:
    """Open a path folder by folder, so that nothing is exchanged meanwhile; return a handle and the links' owners.

    Neither root nor this process counts as an owner; a link in a user's folder is that user's.
    """
    names = [name for name in reversed(path.split("/")) if name not in ("", ".")]
    handle, owners, links = os.open("/" if path.startswith("/") else ".", _PIN | os.O_DIRECTORY), set(), 0
    try:
        while names and links <= LINKS:
            name = names.pop()
            child = os.open(name, _PIN | os.O_NOFOLLOW, dir_fd=handle)
            status, parent = os.fstat(child), os.fstat(handle)
            if not stat.S_ISLNK(status.st_mode) or (flags & os.O_NOFOLLOW and not names):
                os.close(handle)
                handle = child
                continue
            target = os.readlink("", dir_fd=child)
            os.close(child)
            owners |= {parent.st_uid or status.st_uid} - {0}
            links += 1
            names += [part for part in reversed(target.split("/")) if part not in ("", ".")]
            if target.startswith("/"):
                os.close(handle)
                handle = os.open("/", _PIN | os.O_DIRECTORY)
        _refuse_unreached(path, os.fstat(handle).st_mode, flags, names)
    except BaseException:
        os.close(handle)
        raise
    return handle, owners


def is_regular(path: Path) -> bool:
    """Return True if the path is a regular file; a link to one is not."""
    return modified(path) is not None


def modified(path: Path) -> Optional[float]:
    """Return the time of a regular file's last change, epoch seconds; None if it is missing or not regular."""
    try:
        with pin(path, os.O_NOFOLLOW) as place:
            status = os.fstat(place)
    except OSError:
        return None
    return status.st_mtime if stat.S_ISREG(status.st_mode) else None


def read_bytes(path: Path, limit: int = TEXT_BYTES, *, inside: Optional[Path] = None) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; `inside` as in `open_regular`.

    Raises:
        UnsafeFileError: not a regular file, or larger than the limit.
        OSError: the file cannot be read.
    """
    with open_regular(path, inside=inside) as file:
        size = os.fstat(file.fileno()).st_size
        data = b"" if size > limit else file.read(size or limit + 1)  # files of /proc have size 0
        if max(size, len(data)) > limit:
            raise UnsafeFileError("%s is larger than %d bytes" % (path, limit))
        return data


def read_text(path: Path, limit: int = TEXT_BYTES, *, inside: Optional[Path] = None) -> str:
    """Return the content of a file as text, UTF-8 with invalid bytes replaced; raises as `read_bytes`."""
    return read_bytes(path, limit, inside=inside).decode("utf-8", "replace")


def text_or_empty(path: Path, limit: int = TEXT_BYTES) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return read_text(path, limit)
    except OSError:
        return ""


def read_object(path: Path, limit: int = DOCUMENT_BYTES, *, inside: Optional[Path] = None) -> Dict[str, Any]:
    """Return the JSON object in a file; empty if the file cannot be read or has no valid object."""
    try:
        return parse_object(read_text(path, limit, inside=inside))
    except OSError:
        return {}


def parse_object(data: Union[bytes, str]) -> Dict[str, Any]:
    """Return a JSON object in UTF-8; empty for anything else, also deep nesting and integers over 40 digits.

    A number that is not finite becomes None.
    """
    try:
        document = parse_document(data)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def parse_document(data: Union[bytes, str], *, allow_nan: bool = False, depth: int = DEPTH) -> Any:
    """Return parsed JSON in UTF-8; a number that is not finite becomes None unless `allow_nan`.

    Raises:
        ValueError: no JSON, nesting deeper than `depth`, an integer of more than 40 digits, or more than VALUES values.
    """
    text = data.decode("utf-8") if isinstance(data, bytes) else data  # json would accept UTF-16 and UTF-32
    if sum(map(text.count, "[{,")) > VALUES and sum(map(_STRINGS.sub("", text).count, "[{,")) > VALUES:
        raise ValueError("JSON with more than %d values" % VALUES)
    try:
        convert: Callable[[str], Any] = float if allow_nan else finite
        document = json.loads(text, parse_int=json_integer, parse_float=convert, parse_constant=convert)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    if _is_nested_deeper(text, depth):
        raise ValueError("JSON that is nested too deeply")
    return document


def _is_nested_deeper(text: str, depth: int) -> bool:
    """Return True if valid JSON has more than `depth` brackets in each other; each round removes the innermost."""
    if text.count("[") + text.count("{") <= depth:
        return False
    brackets = _NO_BRACKETS.sub("", _STRINGS.sub("", text)).replace("{", "[").replace("}", "]")
    for _ in range(depth):
        brackets = brackets.replace("[]", "")
    return bool(brackets)


def read_part(path: Path, size: int, offset: int = 0, *, inside: Optional[Path] = None) -> bytes:
    """Return at most `size` bytes of a file from an offset on; a negative offset counts from the end.

    Raises:
        UnsafeFileError: not a regular file.
        OSError: the file cannot be read.
    """
    with open_regular(path, inside=inside) as file:
        end = os.fstat(file.fileno()).st_size
        start = file.seek(max(0, end + offset) if offset < 0 else offset)
        return file.read(max(0, min(size, end - start)))  # `read` allocates all requested bytes


def list_folder(folder: Path, limit: int = ENTRIES) -> List[str]:
    """Return the sorted names in a folder, at most `limit`; none if it cannot be read."""
    return sorted(name for name, _ in _entries(folder, limit))


def walk_folder(folder: Path, limit: int = ENTRIES) -> Iterator[str]:
    """Yield the regular files in a folder and its subfolders by path, of at most `limit` entries; follow no link."""
    pending = [os.fspath(folder)]
    while pending:
        parent = pending.pop()
        for name, kind in sorted(_entries(parent, limit)):
            limit -= 1
            path = os.path.join(parent, name)
            if kind == "folder":
                pending.append(path)
            elif kind == "file":
                yield path


def _entries(folder: Path, limit: int) -> List[Tuple[str, str]]:
    """Return at most `limit` names in a folder, each with `file`, `folder` or ""; none if it cannot be read."""
    rows = []  # type: List[Tuple[str, str]]
    try:
        with pin(folder, os.O_DIRECTORY) as handle, os.scandir(_of_handle(handle)) as entries:
            for entry in entries:
                if len(rows) >= limit:
                    break
                _charge(len(entry.name))
                is_folder = entry.is_dir(follow_symlinks=False)
                kind = "folder" if is_folder else "file" if entry.is_file(follow_symlinks=False) else ""
                rows.append((entry.name, kind))
    except OSError:
        return []
    return rows
