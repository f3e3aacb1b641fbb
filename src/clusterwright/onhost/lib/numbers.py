"""Parse numbers that a user or another host wrote (standard library, Python 3.6).

`str.isdigit` accepts digits that `int` refuses, such as the superscript two, and `int` accepts digits of all
scripts and refuses more than 4,300 of them.
"""

from typing import Any, Optional, Union

DIGITS = 20  # of a 64-bit integer
JSON_DIGITS = 40  # of an integer in JSON; ours have at most 20


def ascii_int(text: str) -> Optional[int]:
    """Return the integer of 1 to DIGITS ASCII digits; None for any other text."""
    if len(text) > DIGITS or not text.isdigit():
        return None
    try:
        return int(text.encode("ascii"))
    except ValueError:  # other digits
        return None


def json_integer(text: str) -> int:
    """Return the value of an integer in a JSON document, as `parse_int` of `json.loads`.

    Long ones could take quadratic time.

    Raises:
        ValueError: it has more than JSON_DIGITS digits.
    """
    if len(text) > JSON_DIGITS:
        raise ValueError("an integer with %d digits" % len(text))
    return int(text)


def plain_number(value: Any) -> Union[int, float, None]:
    """Return an integer of at most DIGITS digits or a finite float as it is; None for anything else."""
    if isinstance(value, int):
        return value if abs(value) < 10**DIGITS else None
    return finite(value) if isinstance(value, float) else None


def finite(value: Any) -> Optional[float]:
    """Return a number or a text as a finite float; None for anything else, also for an integer that is too large."""
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        return None
    return number if number - number == 0 else None
