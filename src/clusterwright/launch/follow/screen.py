"""Show scrolling logs above a fixed progress line on a terminal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any, TextIO

from clusterwright.onhost.lib.clean_text import clean
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, parse_object
from clusterwright.onhost.runs import run_progress
from clusterwright.onhost.runs.merged_logs import prefix

_CLEAR = "\r\x1b[K"  # ECMA-48: return to the start of the line and erase it
_BAR = 10


def able(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the stream is a terminal on which a line can be overwritten."""
    return stream.isatty() and environ.get("TERM", "") not in ("", "dumb")


class Screen:
    """Shows JSON lines of logs and progress (onhost/runs/run_logs.py) on a terminal."""

    def __init__(self, stream: TextIO, *, ascii_only: bool = False) -> None:
        self._stream, self._ascii = stream, ascii_only
        self._now: dict[str, Any] | None = None

    def line(self, data: bytes) -> None:
        """Show one line; a line that is not JSON is shown as text."""
        message = parse_object(data)
        try:
            if "progress" in message:
                self._text(message["progress"])
                self._now, text = message["progress"], ""
            else:
                text = f"[{prefix(message['from'])}] {strip_control_characters(message['text'])}"
        except DATA_ERRORS:
            text = f"[?] {strip_control_characters(data.decode(errors='replace').rstrip())}"
        if text:
            self._stream.write(f"{_CLEAR}{clean(text, colors=True)}\n")
        self._draw()

    def close(self) -> None:
        """Write the last progress line in full to the terminal, with the run's outcome; nothing without progress."""
        if self._now:
            self._stream.write(f"{_CLEAR}{clean(run_progress.line(self._now), lines=False)}\n")
            self._stream.flush()

    def _draw(self) -> None:
        if self._now:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(_CLEAR + clean(self._text(self._now), lines=False)[:width])
        self._stream.flush()

    def _text(self, now: dict[str, Any]) -> str:
        return f"{bar(now, ascii_only=self._ascii)}{run_progress.line(now)}"


def bar(now: Mapping[str, Any], *, ascii_only: bool) -> str:
    """Return a progress bar of the completed steps; empty if their total is not known."""
    if not now.get("total_steps") or now.get("step") is None:
        return ""
    full = round(_BAR * min(1.0, now["step"] / now["total_steps"]))
    on, off = ("#", ".") if ascii_only else ("█", "░")
    return f"{on * full}{off * (_BAR - full)} "


def strip_control_characters(text: str) -> str:
    """Return a line with spaces for control characters, except tabs and escapes (colors).

    Of text that carriage returns overwrite, only the last part stays.
    """
    last = text.rstrip("\r").rpartition("\r")[2]
    return "".join(char if char >= " " or char in "\t\x1b" else " " for char in last)
