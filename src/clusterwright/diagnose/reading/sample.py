"""A bounded sample of a source, for the readers of outputs: its beginning, parts of each block, and its end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from clusterwright.diagnose.outputs.value import Row
from clusterwright.diagnose.reading.line import clean, split_prefix

HEAD_BYTES = 256 << 10  # bytes at the beginning of a source that are read whole,
PART = 16 << 10  # bytes of each later block,
MOST_PARTS = 16  # parts; with more, every second one is dropped,
END = 128 << 10  # and bytes at the end
_PREFIXED = re.compile(r"\s*[\[(\d]|[A-Za-z][\w.-]* ?\d*: ")  # lines whose beginning may be a rank or a host
_INDENTED = re.compile(
    r"(?P<host>[a-z][a-z-]*\d[\w-]*(?:\.[\w.-]+)?): (?=\s)"
)  # pdsh before an indented line
LONGEST = 600  # characters of a line; the columns of an output take fewer


class LogSample:
    """Parts of a source with the numbers of their first lines; memory does not grow with the source."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []
        self._head_bytes = 0
        self._stride, self._blocks = 1, 0
        self._end: tuple[int, bytes] | None = None

    def add(self, data: bytes, line: int) -> None:
        """Add parts of a block of whole lines to the sample: of the source's head, of every so many blocks, of its end.

        `line` is the number of the block's first line.
        """
        head = _lines(
            data[: max(0, HEAD_BYTES - self._head_bytes)],
            is_complete=len(data) <= HEAD_BYTES - self._head_bytes,
        )
        if head:
            self._parts.append((line, head))
            self._head_bytes += len(head)
        remaining = data[len(head) :]
        if not remaining:
            return
        line += head.count(b"\n")
        if self._blocks % self._stride == 0:
            self._add_part(line, _lines(remaining[:PART], is_complete=len(remaining) <= PART))
        self._blocks += 1
        tail = remaining[-END:]
        begin = len(remaining) - len(tail) + (tail.find(b"\n") + 1 if len(tail) < len(remaining) else 0)
        self._end = (line + remaining.count(b"\n", 0, begin), remaining[begin:])

    def _add_part(self, line: int, part: bytes) -> None:
        self._parts.append((line, part))
        if len(self._parts) > 2 * MOST_PARTS:
            self._parts = [*self._parts[:1], *self._parts[1::2]]
            self._stride *= 2

    def contains(self, keyword: bytes) -> bool:
        """Return whether the sample contains `keyword`, which is in lower case, ignoring case."""
        return any(keyword in part for part in self._lowered)

    @cached_property
    def _lowered(self) -> list[bytes]:
        return [part.lower() for _, part in self._all()]

    def rows(self) -> Iterator[Row]:
        """Yield the lines of the sample in their order, each once; a carriage return begins another text of a line."""
        last_number = 0
        for first_number, part in self._all():
            yielded_until = last_number
            for number, raw in enumerate(part.split(b"\n"), first_number):
                pieces = raw.split(b"\r") if number > yielded_until else []
                for piece in filter(bytes.strip, pieces):
                    yield _row(number, piece)
                    last_number = number

    def _all(self) -> list[tuple[int, bytes]]:
        return [*self._parts, self._end] if self._end else self._parts


def _lines(data: bytes, *, is_complete: bool) -> bytes:
    """Return the data up to the end of its last whole line; all of it if `is_complete`."""
    return data if is_complete else data[: data.rfind(b"\n") + 1]


def _row(number: int, raw: bytes) -> Row:
    text = clean(raw[: 4 * LONGEST]).rstrip()[:LONGEST]
    if not _PREFIXED.match(text):
        return Row(number, text)
    if match := _INDENTED.match(text):
        return Row(number, text[match.end() :], match["host"])
    rank, host, body = split_prefix(text)
    return Row(number, body, host, rank)
