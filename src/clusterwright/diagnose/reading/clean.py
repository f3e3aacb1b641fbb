"""A line as it was meant: without the terminal's codes, and with nothing in it that could act on ours."""

from __future__ import annotations

import re

_CODES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # a title, a link
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # a device's string
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, movements
    r"|\x1b[ -/]*[0-~]"
)
_OVERSTRUCK = re.compile(r"[^\x08]\x08")
# All that is no sign: controls, what turns the direction of writing, and what has no width.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb]"
)


def clean(raw: bytes) -> str:
    """The text of a line's bytes."""
    text = raw.decode("utf-8", "replace")
    if text.isprintable():
        return text
    text = _CODES.sub("", text)
    while "\x08" in text and (shorter := _OVERSTRUCK.sub("", text)) != text:
        text = shorter
    return _UNSEEN.sub("", text)
