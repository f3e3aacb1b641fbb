"""What a long operation is doing, host by host, for whoever shows it; the operation knows no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

# Called with each chunk of the stdout of a command that `edge.processes.run` runs in this context.
OUTPUT: ContextVar[Callable[[bytes], None] | None] = ContextVar("OUTPUT", default=None)


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """A host waits (without `doing`), does something, or is done."""

    host: str
    doing: str = ""
    is_finished: bool = False


Listener = Callable[[ProgressEvent], None]


def ignore(_event: ProgressEvent) -> None:
    """Ignore an event."""


def announce(hosts: Iterable[str], on_event: Listener) -> None:
    """Report each host to `on_event` as one that waits for its work."""
    for host in hosts:
        on_event(ProgressEvent(host))


def reporting(
    hosts: Iterable[str], work: Callable[[str], T], on_event: Listener, doing: str
) -> Callable[[str], T]:
    """Report all hosts as waiting, and return a function that does `work` for a host and reports its begin and end.

    `doing` is the text of what the host does.
    """
    announce(hosts, on_event)

    def work_on(host: str) -> T:
        on_event(ProgressEvent(host, doing))
        try:
            return work(host)
        finally:
            on_event(ProgressEvent(host, is_finished=True))

    return work_on


@contextmanager
def lines_with(prefix: str, on_line: Callable[[str], None]) -> Iterator[None]:
    """Call `on_line` with the rest of each line of stdout that begins with the prefix, in a `with` block.

    That is the stdout of commands that run in the block.
    """
    token = OUTPUT.set(_LineReader(prefix.encode(), on_line))
    try:
        yield
    finally:
        OUTPUT.reset(token)


class _LineReader:
    """Splits chunks into lines; a line longer than LONGEST bytes, which no agent prints, is dropped."""

    LONGEST = 4096

    def __init__(self, prefix: bytes, on_line: Callable[[str], None]) -> None:
        self._prefix, self._on_line, self._rest = prefix, on_line, b""

    def __call__(self, data: bytes) -> None:
        """Take the next bytes of stdout; pass `on_line` the rest of each whole line with the prefix."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[: self.LONGEST]
        for line in lines:
            if line.startswith(self._prefix):
                self._on_line(line[len(self._prefix) :].decode("utf-8", "replace"))
