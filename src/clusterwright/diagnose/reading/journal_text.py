"""Entries of the journal as lines of text, with what journald itself knows of their writer."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

from clusterwright.diagnose.reading.line import is_of_kernel
from clusterwright.onhost.lib.journal import LINE_END, Entry, message_lines, parse_entry

KERNEL, ROOT = "kernel", "0"


def entry_prefix(entry: Entry, host: str) -> str:
    """Return what `journalctl -o short-iso` prints before the text of an entry, in UTC.

    Raises:
        ValueError, OverflowError, OSError: the time is out of range.
    """
    time = datetime.fromtimestamp(entry.time, UTC)
    program = LINE_END.sub(" ", entry.identifier)  # a program chooses it
    return f"{time:%Y-%m-%dT%H:%M:%S+0000} {host} {program}{entry.pid and f'[{entry.pid}]'}: "


def journal_text(data: bytes) -> bytes:
    """Return lines of `journalctl -o json` as text, one for each; other lines stay as they are.

    Only the kernel reports a fault of a GPU: the line of a user's program that seems to is empty.
    """
    return b"\n".join(_line(raw) if raw.startswith(b"{") else raw for raw in data.split(b"\n"))


def _line(raw: bytes) -> bytes:
    entry = parse_entry(raw.decode("utf-8", "replace"))
    if entry is None:
        return b""
    text = " ".join(message_lines(entry.text))
    if entry.transport != KERNEL and entry.uid != ROOT and is_of_kernel(f"{entry.identifier} {text}"):
        return b""
    with suppress(ValueError, OverflowError, OSError):
        return f"{entry_prefix(entry, LINE_END.sub(' ', entry.host))}{text}".encode("utf-8", "replace")
    return b""
