"""Entries of the journal as lines of text, with what journald itself knows of their writer."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from clusterwright.diagnose.reading.line import is_of_kernel
from clusterwright.i18n import _
from clusterwright.onhost.lib.journal import LINE_END, Entry, message_lines, parse_entry

KERNEL = "kernel"
MAX_BYTES = 1 << 20  # of a line or field, and of an entry in JSON; an entry of more has no text
MAX_FIELD_BYTES = 64 << 20  # in the export format; entries of users have at most 32 MiB (journald-native.c)

_IN_JSON = re.compile(rb'^(?:\x1e|data: )?\{\s*"', re.MULTILINE)
_TIME_IN_JSON = b'"__REALTIME_TIMESTAMP"'
_IN_EXPORT = re.compile(rb"^__CURSOR=s=[0-9a-f]+;", re.MULTILINE)
_NAME = re.compile(rb"[A-Z0-9_]+")
_SIZE_BYTES = 8  # of the size before a field with line ends, as systemd's JOURNAL_EXPORT_FORMATS


def entry_prefix(entry: Entry, host: str) -> str:
    """Return what `journalctl -o short-iso` prints before the text of an entry, in UTC.

    Raises:
        ValueError, OverflowError, OSError: the time is out of range.
    """
    time = datetime.fromtimestamp(entry.time, UTC)
    program = LINE_END.sub(" ", entry.identifier)  # a program chooses it
    return f"{time:%Y-%m-%dT%H:%M:%S+0000} {host} {program}{entry.pid and f'[{entry.pid}]'}: "


class JournalText(Protocol):
    """Converts the bytes of a file, piece by piece, to as many lines, one of them for each entry."""

    def feed(self, data: bytes) -> bytes:
        """Return the lines that end in the next piece of the file."""
        ...

    def finish(self) -> bytes:
        """Return the last lines, which `feed` retained because their entry was incomplete.

        Called once, at the end of the file.
        """
        ...


def journal_text(head: bytes, size: int) -> JournalText | None:
    """Return a converter for a file that begins as `journalctl -o json`, `json-pretty` or `export` prints entries.

    None for any other file. `size`: bytes of the head in which an entry begins.
    """
    if _IN_EXPORT.search(head[:size]):
        return ExportText()
    return JsonText() if _IN_JSON.search(head[:size]) and _TIME_IN_JSON in head else None


class JsonText:
    """Converts `journalctl -o json`, `json-pretty`, `json-seq` and `json-sse`; lines outside of entries stay."""

    def __init__(self) -> None:
        self._unfinished = b""
        self._is_long = False  # the rest is the end of a line of which the beginning was dropped
        self._entry: list[bytes] = []  # lines of an entry that has several
        self._bytes = 0

    def feed(self, data: bytes) -> bytes:
        """Return the lines that end in the next piece of the file."""
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        texts = []
        for line in lines:
            texts.append(b"" if self._is_long else self._text(line))
            self._is_long = False
        if self._is_long or len(self._unfinished) > MAX_BYTES:
            self._unfinished, self._is_long, self._bytes = b"", True, MAX_BYTES + 1
        return b"".join(text + b"\n" for text in texts)

    def finish(self) -> bytes:
        """Return the text of the last line, which `feed` retained; empty if the line is longer than the limit."""
        return b"" if self._is_long else self._text(self._unfinished)

    def _text(self, line: bytes) -> bytes:
        if self._entry:
            self._bytes += len(line)
            if self._bytes <= MAX_BYTES:
                self._entry.append(line)
            if line.rstrip() != b"}":
                return b""
            entry, self._entry = b"\n".join(self._entry), []
            return _entry_text(entry) if self._bytes <= MAX_BYTES else b""
        line_of_entry = line.removeprefix(b"\x1e").removeprefix(b"data: ")
        if line_of_entry.rstrip() == b"{":
            self._entry, self._bytes = [line_of_entry], 0
            return b""
        return _entry_text(line_of_entry) if line_of_entry.startswith(b"{") else line


class ExportText:
    """Converts `journalctl -o export`: fields as NAME=VALUE or with their size, an empty line after each entry."""

    def __init__(self) -> None:
        self._data = b""
        self._fields: dict[str, str] = {}
        self._lines = self._message_line = 0

    def feed(self, data: bytes) -> bytes:
        """Return the lines of the entries that end in the next piece of the file.

        Raises:
            ValueError: a field is larger than any that a user can log.
        """
        self._data += data
        texts, start = [], 0
        while (end := self._field_end(start)) is not None:
            is_last = self._data[start:end] == b"\n"
            self._lines += self._data.count(b"\n", start, end)
            if is_last:
                texts.append(self._entry())
            start = end
        self._data = self._data[start:]
        if len(self._data) > MAX_FIELD_BYTES:
            raise ValueError(_("a field of the journal has more than {number} bytes", number=MAX_FIELD_BYTES))
        return b"".join(texts)

    def finish(self) -> bytes:
        """Return the lines of the last entry, if the file does not end with the empty line after it; else empty."""
        return self.feed(b"\n\n") if self._fields or self._data else b""

    def _field_end(self, start: int) -> int | None:
        """Store the field that begins at `start`, and return the offset of the next one; None if its end is missing.

        Both `NAME=VALUE` and the form with a size in bytes are read.
        """
        end = self._data.find(b"\n", start)
        if end < 0:
            return None
        name, _separator, value = self._data[start:end].partition(b"=")
        if _NAME.fullmatch(self._data, start, end):
            begin = end + 1 + _SIZE_BYTES
            end = begin + int.from_bytes(self._data[end + 1 : begin], "little")
            if len(self._data) <= end:
                return None
            value = self._data[begin:end]
        if name == b"MESSAGE":
            self._message_line = self._lines
        self._fields.setdefault(name.decode("utf-8", "replace"), value[:MAX_BYTES].decode("utf-8", "replace"))
        return end + 1

    def _entry(self) -> bytes:
        text = _entry_text(json.dumps(self._fields).encode())
        offset = min(self._message_line, self._lines - 1)
        lines = b"\n" * offset + text + b"\n" * (self._lines - offset)
        self._fields, self._lines, self._message_line = {}, 0, 0
        return lines


def _entry_text(line: bytes) -> bytes:
    """Return an entry in JSON as a line of text.

    Only the kernel reports a fault of a GPU: the line of any program that seems to is empty. Programs of root log
    names that others choose, such as those of logins.
    """
    entry = parse_entry(line.decode("utf-8", "replace"))
    if entry is None:
        return b""
    text = " ".join(message_lines(entry.text))
    if entry.transport != KERNEL and is_of_kernel(f"{entry.identifier} {text}"):
        return b""
    with suppress(ValueError, OverflowError, OSError):
        return f"{entry_prefix(entry, LINE_END.sub(' ', entry.host))}{text}".encode("utf-8", "replace")
    return b""
