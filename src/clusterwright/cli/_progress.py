"""Progress of long operations on stderr: a live block on a terminal, a line every ten seconds elsewhere.

`ProgressState` and the functions that turn it into lines are pure. `Progress` writes them from a thread of its own,
which ends with the block of `with`. The cursor is never hidden, so nothing has to be restored if the process dies.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from clusterwright.cli._global_options import QUIET
from clusterwright.cli._show import message_writers
from clusterwright.cli._wrapping import wrap_for_terminal
from clusterwright.edge.progress import ProgressEvent
from clusterwright.i18n import _n
from clusterwright.onhost.lib.clean_text import clean, unfiltered
from clusterwright.units import human_duration

FIRST_S = 1.0  # a shorter operation shows nothing
LIVE_S = 0.2  # between two drawings on a terminal
PLAIN_S = 10.0  # between two lines elsewhere
MOST_HOSTS = 8  # in the block, and MOST_NAMED in a line
MOST_NAMED = 3
_CLEAR_BELOW = "\r\x1b[J"


@dataclass
class ProgressState:
    """What is known of an operation: what each unfinished host does (empty: it waits), and who is done."""

    title: str
    doing: dict[str, str] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    message: str = ""  # the newest message of an operation that reports no hosts

    def add(self, event: ProgressEvent) -> None:
        """Update the state by a progress event: what its host does now, or that it has finished."""
        if event.is_finished:
            self.doing.pop(event.host, None)
            self.finished.add(event.host)
        else:
            self.finished.discard(event.host)
            self.doing[event.host] = event.doing

    @property
    def running(self) -> list[tuple[str, str]]:
        """Return the unfinished hosts that do something, and what."""
        return [(host, doing) for host, doing in self.doing.items() if doing]


def summary_line(state: ProgressState, elapsed_s: float) -> str:
    """Return one line: the operation, its time, and how many hosts are done.

    Without hosts, its newest message in place of that.
    """
    head = f"{state.title}: {human_duration(max(1, round(elapsed_s)))}"
    total = len(state.doing) + len(state.finished)
    if total:
        counts = _n(
            "{done} of {count} host done", "{done} of {count} hosts done", total, done=len(state.finished)
        )
        return f"{head}, {counts}"
    return f"{head}, {state.message}" if state.message else head


def block_lines(state: ProgressState, elapsed_s: float, width: int, height: int) -> list[str]:
    """Return the block of a terminal: the summary, then a line for each running host, as many as fit."""
    running, most_lines = state.running, max(0, min(MOST_HOSTS, height - 2))
    visible = running if len(running) <= most_lines else running[: max(0, most_lines - 1)]
    name_width = min(max((len(host) for host, _doing in visible), default=0), width // 2)
    lines = [summary_line(state, elapsed_s)]
    lines += [f"  {host:{name_width}}  {doing}" for host, doing in visible]
    if omitted := len(running) - len(visible):
        lines += [_n("  and {count} more host", "  and {count} more hosts", omitted)] if most_lines else []
    return [shorten(clean(line, lines=False), width - 1) for line in lines]


def plain_line(state: ProgressState, elapsed_s: float) -> str:
    """Return the progress as one line for a log: the summary and the first running hosts."""
    running = state.running
    hosts = [f"{host} ({doing})" for host, doing in running[:MOST_NAMED]]
    hosts += [_n("{count} more", "{count} more", omitted)] if (omitted := len(running) - len(hosts)) else []
    line = summary_line(state, elapsed_s)
    return clean(f"{line}; {', '.join(hosts)}" if hosts else line, lines=False)


def shorten(text: str, width: int) -> str:
    """Return the text, cut with three dots to `width` columns of a terminal if it takes more."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 3)).rstrip() + "..."[: max(0, width)]


class Progress:
    """Shows a state until `close`; other messages go through `write`, above the block."""

    def __init__(self, title: str, stream: Any) -> None:
        self.state = ProgressState(title)
        self._stream, self._began = stream, time.monotonic()
        self._is_live = bool(stream.isatty()) and os.environ.get("TERM", "dumb") != "dumb"
        self._lock, self._over = threading.Lock(), threading.Event()
        self._drawn = 0  # lines of the block on the terminal
        self._paused = False
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._show,), name="progress", daemon=True
        )
        self._thread.start()

    def on_event(self, event: ProgressEvent) -> None:
        """Update the progress shown by an event of the operation; thread-safe."""
        with self._lock:
            self.state.add(event)

    def write(self, text: str) -> None:
        """Print a message, wrapped, above the block of progress."""
        with self._lock:
            self._clear()
            self.state.message = text
            self._stream.write(f"{wrap_for_terminal(clean(text), self._stream)}\n")
            self._stream.flush()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Show no progress and stop its clock in a `with` block, in which a person answers a question."""
        with self._lock:
            self._clear()
            self._stream.flush()
            self._paused, began = True, time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._paused = False
                self._began += time.monotonic() - began

    def close(self) -> None:
        """Remove the block of progress from the terminal, and end its thread."""
        self._over.set()
        self._thread.join()
        with self._lock, suppress(OSError, ValueError):
            self._clear()
            self._stream.flush()

    def _show(self) -> None:
        interval_s = LIVE_S if self._is_live else PLAIN_S
        wait_s = FIRST_S if self._is_live else PLAIN_S
        while not self._over.wait(wait_s):
            wait_s = interval_s
            with self._lock:
                try:
                    self._draw()
                except (OSError, ValueError):  # stderr is gone or closed: the operation goes on
                    return

    def _draw(self) -> None:
        if self._paused:
            return
        elapsed_s = time.monotonic() - self._began
        if self._is_live:
            self._write_block(block_lines(self.state, elapsed_s, *self._size()))
        else:
            self._stream.write(plain_line(self.state, elapsed_s) + "\n")
        self._stream.flush()

    def _size(self) -> tuple[int, int]:
        """Return columns and lines of the terminal of stderr; stdout may be a file."""
        with suppress(OSError):
            if (size := os.get_terminal_size(self._stream.fileno())).columns:
                return size.columns, size.lines
        return shutil.get_terminal_size()

    def _write_block(self, lines: Sequence[str]) -> None:
        self._clear()
        self._stream.write("\n".join(lines))
        self._drawn = len(lines)

    def _clear(self) -> None:
        if self._drawn:
            up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
            self._stream.write(f"{up}{_CLEAR_BELOW}")
            self._drawn = 0


class NoProgress:
    """Shows nothing, with --json or --quiet."""

    def on_event(self, event: ProgressEvent) -> None:
        """Ignore the event: no progress is shown."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do nothing before and after a `with` block, as no progress is shown."""
        yield


_visible_progress: list[Progress] = []


@contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[Progress | NoProgress]:
    """Show the progress of an operation during a `with` block, unless `quiet`, --quiet or another one is shown.

    Yield the progress to update: that other one, or one that shows nothing.
    """
    if quiet or os.environ.get(QUIET) or _visible_progress:
        yield _visible_progress[-1] if _visible_progress else NoProgress()
        return
    visible = Progress(title, unfiltered(sys.stderr))
    _visible_progress.append(visible)
    message_writers.append(visible.write)
    try:
        yield visible
    finally:
        message_writers.remove(visible.write)
        _visible_progress.remove(visible)
        visible.close()
