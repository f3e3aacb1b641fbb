"""Where lines come from: files of any packing, streams, and text that was asked of a cluster."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

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
_TEXT_CONTROLS = (
    b"\t\n\r\x08\x1b\x07\x0c\x00"  # holes of a file on a network are zeros, and are no line's text
)


@dataclass(frozen=True, slots=True)
class Source:
    """Lines with a name to quote them by; `host` and `rank` where all of its lines are of one."""

    name: str
    open: Callable[[], BinaryIO]
    kind: str = "log"
    host: str = ""
    rank: str = ""
    year: int = 0  # of stamps that have none, as syslog's
    order: int = 0  # among sources that go on from each other, as rotated files do
    group: str = ""  # the same for files of one log, which was rotated


def of_text(name: str, text: str, *, kind: str = "log", host: str = "", rank: str = "") -> Source:
    """Lines that are at hand already, as what Slurm answered."""
    return of_bytes(name, text.encode("utf-8", "replace"), kind=kind, host=host, rank=rank)


def of_bytes(name: str, data: bytes, *, kind: str = "log", host: str = "", rank: str = "") -> Source:
    """What is at hand already, lines or a dump."""
    return Source(name, lambda: io.BytesIO(data), kind, host, rank, group=name)


def of_stream(name: str = "-") -> Source:
    """What is piped in."""
    return Source(name, lambda: sys.stdin.buffer, group=name)


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked where its name says that it is packed."""
    if path.suffix in _PACKED:
        from importlib import import_module

        unpacked: BinaryIO = import_module(_PACKED[path.suffix]).open(path, "rb")
        return unpacked
    return _unzstd(path) if path.suffix == ".zst" else path.open("rb")


def _unzstd(path: Path) -> BinaryIO:
    """By Python's module, or by the program; Python itself has neither before 3.14."""
    from importlib import import_module
    from importlib.util import find_spec
    from shutil import which

    if find_spec("zstandard"):
        stream: BinaryIO = import_module("zstandard").open(path, "rb")
        return stream
    if program := which("zstd"):
        from clusterwright.edge.processes import Output

        failed = "zstd could not unpack it: it is cut short, or no such file"
        return io.BufferedReader(Output((program, "-dcq", "--", str(path)), failed))
    raise OSError(
        "it is packed by zstd, which is not here; `apt-get install zstd`, or `zstd -d` it elsewhere"
    )


@contextmanager
def reading(source: Source) -> Iterator[BinaryIO]:
    """The source's bytes; the stream that was given to us is left open."""
    stream = source.open()
    try:
        yield stream
    finally:
        if stream is not sys.stdin.buffer:
            stream.close()


def is_binary(head: bytes) -> bool:
    """Whether this is how something begins that is no text."""
    if head.startswith(_MAGIC):
        return True
    controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in head)
    return controls > len(head) // 20
