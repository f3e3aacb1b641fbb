"""Numbers of the command line that several commands take, and how a text that means a number is to be written."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from clusterwright.i18n import _

Count = Annotated[int, Parameter(validator=Number(gte=1, lte=10**9))]
CountOrZero = Annotated[int, Parameter(validator=Number(gte=0, lte=10**9))]  # 0: none of them
Positive = Annotated[float, Parameter(validator=Number(gt=0, lte=10**9))]
PositiveOrZero = Annotated[float, Parameter(validator=Number(gte=0, lte=10**9))]
Fraction = Annotated[float, Parameter(validator=Number(gt=0, lte=1))]
Ratio = Annotated[float, Parameter(validator=Number(gte=1, lte=10**9))]  # of a whole to one of its parts
Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535))]  # 0: any free port

_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_RATIO = re.compile(r"(\d+(?:\.\d+)?) ?(?::1|x)?$")  # 1,5 with its comma replaced, 2:1 or 2x
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?) ?%")
_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgGbBtT])")
_FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9, "t": 10**12}
_UNITS = {"s": "1", "ms": "0.001", "us": "0.000001", "m": "60", "min": "60", "h": "3600"}


def share_spelling(text: str) -> str:
    """Return a percentage as a share of 1, 5% as 0.05; empty for another text."""
    match = _PERCENTAGE.fullmatch(text.strip().replace(",", "."))
    return f"{(Decimal(match[1]) / 100).normalize():f}" if match else ""


def number_without_unit(text: str, option: str, meaning: str) -> str:
    """Return a time as seconds or a power as watts, for an option that takes these; empty for another text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(ms|us|min|[smhW])", text.strip())
    is_seconds = re.search(r"\b[Ss]econds\b|秒", meaning)
    if match and (option.endswith("-w") if match[2] == "W" else is_seconds):
        return f"{(Decimal(match[1]) * Decimal(_UNITS.get(match[2], '1'))).normalize():f}"
    return ""


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
