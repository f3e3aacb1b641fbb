"""Sources of log lines: compressed or plain files, standard input, and output of queries to a cluster."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from clusterwright.file_arguments import DESCRIPTOR
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import pin

HEAD = 8192
_PACKED = {".gz": "gzip", ".xz": "lzma", ".bz2": "bz2"}
_MAGIC = (
    b"\x7fELF",
    b"PK\x03\x04",
    b"\x80\x02",
    b"\x80\x04",
    b"\x89PNG",
    b"\x89HDF",
    b"(\xb5/\xfd",
    b"SQLite format",
)
_TEXT_CONTROLS = b"\t\n\r\x08\x1b\x07\x0c\x00"  # files on network storage may have holes of zeros


@dataclass(frozen=True, slots=True)
class LogSource:
    """A named source of log lines; `host` and `rank` if all its lines are of one."""

    name: str
    open: Callable[[], BinaryIO]
    kind: str = "log"
    host: str = ""
    rank: str = ""
    year: int = 0  # year of timestamps without one, as in syslog
    order: int = 0  # number among the parts of a rotated log
    group: str = ""  # equal for the parts of a rotated log


def of_text(name: str, text: str, *, kind: str = "log", host: str = "", rank: str = "") -> LogSource:
    """Return a log source whose content is a text in memory, such as output of Slurm."""
    return of_bytes(name, text.encode("utf-8", "replace"), kind=kind, host=host, rank=rank)


def of_bytes(name: str, data: bytes, *, kind: str = "log", host: str = "", rank: str = "") -> LogSource:
    """Return a log source whose content is bytes in memory; `name` appears in evidence."""
    return LogSource(name, lambda: io.BytesIO(data), kind, host, rank, group=name)


def of_stream(name: str = "-") -> LogSource:
    """Return a log source that reads standard input."""
    return LogSource(name, lambda: sys.stdin.buffer, group=name)


def opened(path: Path) -> BinaryIO:
    """Return a regular file opened and decompressed by its suffix, or a descriptor such as the pipe of `<(command)`.

    Raises:
        OSError: it cannot be opened, or is a pipe, a device or a socket, which could block the reader or never end.
    """
    if DESCRIPTOR.fullmatch(str(path)):
        return path.open("rb")
    with pin(path) as place:
        if not stat.S_ISREG(os.fstat(place).st_mode):
            raise OSError(_("the path is not a regular file; pass a pipe on standard input, as `-`"))
        return _unpacked(f"/proc/self/fd/{place}", path.suffix)


def _unpacked(path: str, suffix: str) -> BinaryIO:
    if suffix in _PACKED:
        from importlib import import_module

        unpacked: BinaryIO = import_module(_PACKED[suffix]).open(path, "rb")
        return unpacked
    return _unzstd(path) if suffix == ".zst" else Path(path).open("rb")


def _unzstd(path: str) -> BinaryIO:
    """Open a zstd file for reading, decompressed by the module zstandard, else by the program zstd.

    Raises:
        OSError: neither of them is installed; Python has its own only from 3.14 on.
    """
    from importlib import import_module
    from importlib.util import find_spec
    from shutil import which

    if find_spec("zstandard"):
        stream: BinaryIO = import_module("zstandard").open(path, "rb")
        return stream
    if program := which("zstd"):
        from clusterwright.edge.processes import Output

        failed = _("zstd cannot decompress the file: it is truncated, or not a zstd file")
        with Path(path).open("rb") as packed:
            return io.BufferedReader(Output((program, "-dcq"), packed, failed))
    raise OSError(
        _(
            "the file is compressed with zstd, which is not installed; run `apt-get install zstd`, or "
            "`zstd -d` elsewhere"
        )
    )


@contextmanager
def reading(source: LogSource) -> Iterator[BinaryIO]:
    """Open a source for a `with` block and close it afterwards, unless it is standard input."""
    stream = source.open()
    try:
        yield stream
    finally:
        if stream is not sys.stdin.buffer:
            stream.close()


def is_binary(head: bytes) -> bool:
    """Return whether the first bytes are those of a binary format, or more than a twentieth are control characters."""
    if head.startswith(_MAGIC):
        return True
    controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in head)
    return controls > len(head) // 20
