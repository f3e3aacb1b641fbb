"""Remove terminal escapes and invisible characters from lines of logs."""

from __future__ import annotations

import re

_CODES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # a title, a link
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # a device control string
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colors, cursor movements
    r"|\x1b[ -/]*[0-~]"
)
# Control characters, direction marks and characters without width.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb]"
)


def clean(raw: bytes) -> str:
    """Decode a line and remove color codes, overstruck and other characters that are not printable."""
    text = raw.decode("utf-8", "replace")
    if text.isprintable():
        return text
    text = _CODES.sub("", text)
    return _UNSEEN.sub("", _without_overstruck(text) if "\x08" in text else text)


def _without_overstruck(text: str) -> str:
    """Remove each character that a backspace deletes, in one pass."""
    remaining: list[str] = []
    for sign in text:
        if sign != "\x08":
            remaining.append(sign)
        elif remaining:
            remaining.pop()
    return "".join(remaining)
