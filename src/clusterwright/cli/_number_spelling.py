"""How to write a number that a user typed with a percent sign, a suffix or a comma."""

from __future__ import annotations

import re
from decimal import Decimal

from clusterwright.i18n import _

_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_RATIO = re.compile(r"(\d+(?:\.\d+)?) ?(?::1|x)?$")  # 1,5 with its comma replaced, 2:1 or 2x
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?) ?%")
_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgGbBtT])")
_FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}


def share_spelling(text: str) -> str:
    """Return a percentage as a share of 1, 5% as 0.05; empty for another text."""
    match = _PERCENTAGE.fullmatch(text.strip().replace(",", "."))
    return f"{(Decimal(match[1]) / 100).normalize():f}" if match else ""


def number_spelling(text: str, *, is_integer: bool) -> str:
    """Return how to write a number that has a comma, a suffix or a decimal point; empty if the text is none.

    A count of tokens with k is often a power of two, so that both are named.
    """
    stripped = text.strip().replace("_", "").lstrip("+")
    if _THOUSANDS.fullmatch(stripped):
        return stripped.replace(",", "")
    if not is_integer and (number := _RATIO.match(stripped.replace(",", "."))):
        return number[1]
    if match := _SUFFIXED.fullmatch(stripped):
        letter = match[2].lower()
        expanded = Decimal(match[1]) * _FACTORS[letter]
        binary = (
            _(" or {number}", number=int(Decimal(match[1]) * 1024)) if letter == "k" and is_integer else ""
        )
        return f"{int(expanded)}{binary}"
    try:
        value = Decimal(stripped)
    except ArithmeticError:
        return ""
    return str(int(value)) if value.is_finite() and value == int(value) and abs(value) < 10**18 else ""
