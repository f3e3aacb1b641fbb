"""Strangers' text made harmless before a person sees it; pure."""

from __future__ import annotations

import unicodedata

LONGEST = 64  # signs of a job's name that are shown


def visible(text: str, longest: int = LONGEST) -> str:
    r"""The text on one line, with each control, direction and zero-width sign as its code: `\u202e`; cut with `…`.

    Markup is not touched: whoever puts the text into HTML escapes it there.
    """
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else _coded(sign) for sign in text[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _coded(sign: str) -> str:
    if unicodedata.category(sign) == "Zs":  # a wide or unbreakable space
        return " "
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
