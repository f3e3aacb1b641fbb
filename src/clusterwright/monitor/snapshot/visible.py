"""Escape untrusted text before it is shown; pure."""

from __future__ import annotations

import unicodedata

from clusterwright.onhost.lib.clean_text import code

LONGEST = 64  # characters of a job's name


def visible(text: str, longest: int = LONGEST) -> str:
    r"""Return text on one line: control, direction and zero-width characters as codes (`\u202e`), cut with `…`.

    Markup is not escaped; the HTML pages do that.
    """
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else _coded(sign) for sign in text[: longest + 1])
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _coded(sign: str) -> str:
    return " " if unicodedata.category(sign) == "Zs" else code(sign)  # a wide or non-breaking space
