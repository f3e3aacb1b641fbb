"""A source in pieces that end where lines do; a line that is longer than a piece is cut, with an overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

SIZE = 4 << 20
OVERLAP = 4096  # longer than any text that is looked for


class Block(NamedTuple):
    """Bytes, the number of their first line, and where the part ends that belongs to this block."""

    data: bytes
    line: int
    end: int  # texts that begin from here on are found in the next block


def blocks(stream: BinaryIO, size: int = SIZE) -> Iterator[Block]:
    """All of the stream, in pieces of about `size`."""
    carried, line = b"", 1
    while True:
        piece = stream.read(size)
        data = carried + piece
        if not piece:
            if data:
                yield Block(data, line, len(data))
            return
        cut = data.rfind(b"\n") + 1
        if cut == 0:
            cut = max(0, len(data) - OVERLAP) if len(data) >= size else 0
            if cut:
                yield Block(data, line, cut)
        else:
            yield Block(data[:cut], line, cut)
        line += data.count(b"\n", 0, cut)
        carried = data[cut:]
