"""Parse values of a catalog file: `80GB`, `3.35TB/s`, `989TFLOP/s`, `700W`, `130ns`, `3.5 USD/h`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from clusterwright.i18n import _
from clusterwright.units import QuantityError, parse_rate, parse_size

_NUMBER = r"([0-9]{1,20}(?:\.[0-9]{1,20})?)"
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_FLOPS = re.compile(rf"{_NUMBER} ?([kMGTPE]?)FLOP/s")
_POWER = re.compile(rf"{_NUMBER} ?([kM]?)W")
_TIME = re.compile(rf"{_NUMBER} ?(ns|us|ms|s)")
_LENGTH = re.compile(rf"{_NUMBER} ?m")
_MONEY = re.compile(rf"{_NUMBER} ?([A-Z]{{3}})(?:/(h|kWh|kW/month))?")
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_PER = {None: "piece", "h": "GPU-hour", "kWh": "kWh", "kW/month": "kW-month"}


def size(value: Any) -> float:
    """Parse a size such as `80GB` or `79.1GiB` to bytes; raises QuantityError for another value or 0."""
    return _some(float(parse_size(_text(value, _("write the size as 80GB or 79.1GiB")))), value)


def byte_rate(value: Any) -> float:
    """Parse a rate such as `3.35TB/s` to bytes per second; raises QuantityError for another value or 0."""
    return _some(parse_rate(_text(value, _("write the rate as 3.35TB/s"))) / 8, value)


def bit_rate(value: Any) -> float:
    """Parse a rate such as `400Gbit/s` to bits per second; raises QuantityError for another value or 0."""
    return _some(float(parse_rate(_text(value, _("write the rate as 400Gbit/s")))), value)


def flops(value: Any) -> float:
    """Parse a rate such as `989TFLOP/s` to FLOP/s; the text cannot tell whether it is dense.

    Raises:
        QuantityError: another value, or 0.
    """
    match = _match(_FLOPS, value, _("a rate of arithmetic"), _("write the dense rate as 989TFLOP/s"))
    return _some(float(match[1]) * _SCALES[match[2]], value)


def power(value: Any) -> float:
    """Parse a power such as `700W` or `10.2kW` to watts; raises QuantityError for another value."""
    match = _match(_POWER, value, _("a power"), _("write the power as 700W or 10.2kW"))
    return float(match[1]) * _SCALES[match[2]]


def seconds(value: Any) -> float:
    """Parse a time such as `130ns` to seconds; raises QuantityError for another value."""
    match = _match(_TIME, value, _("a short time"), _("write the time as 130ns or 80us"))
    return float(match[1]) * _TIMES[match[2]]


def metres(value: Any) -> float:
    """Return the meters of a length such as `50m`.

    Raises:
        QuantityError: it is anything else.
    """
    return float(_match(_LENGTH, value, _("a length"), _("write the length as 50m"))[1])


def money(value: Any) -> tuple[float, str, str]:
    """Parse a price such as `30000 USD` or `3.5 USD/h` to (amount, currency, unit).

    Raises:
        QuantityError: another value.
    """
    match = _match(
        _MONEY,
        value,
        _("a price"),
        _("write the price as 30000 USD, 3.5 USD/h, 0.1 EUR/kWh or 200 USD/kW/month"),
    )
    return float(match[1]), match[2], _PER[match[3]]


def integer(value: Any) -> int:
    """Return the value if it is an integer of at least 0.

    Raises:
        QuantityError: it is anything else, also a boolean.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise QuantityError(
            _("`{value}` is not an integer of 0 or more", value=value),
            _("write the number as an integer of 0 or more, such as 8"),
        )
    return value


def flag(value: Any) -> bool:
    """Return the value if it is a boolean.

    Raises:
        QuantityError: it is anything else, such as the text `true`.
    """
    if not isinstance(value, bool):
        raise QuantityError(
            _("`{value}` is neither true nor false", value=value),
            _("write the value as true or false, without quotes"),
        )
    return value


def text(value: Any) -> str:
    """Return the value, with its blanks, if it is a string that is not blank, else raise QuantityError."""
    if not isinstance(value, str) or not value.strip():
        raise QuantityError(
            _("`{value}` is not a string", value=value), _('write the string in quotes: "..."')
        )
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of strings as a tuple; a single string is a list of one. Raises QuantityError for another value."""
    return (text(value),) if isinstance(value, str) else _read_items(value, text, _("a list of texts"))


def rates(value: Any) -> dict[str, float]:
    """Parse FLOP/s by precision: `{bf16 = "989TFLOP/s"}`; raises QuantityError for another value or precision."""
    precisions = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")
    if not isinstance(value, dict) or not value:
        raise QuantityError(
            _("the value is not a table of rates by precision"),
            _('write the rates by precision as {bf16 = "989TFLOP/s"}'),
        )
    for precision in value:
        if precision not in precisions:
            raise QuantityError(
                _("`{precision}` is not a known precision", precision=precision),
                _("write one of the precisions {precisions}", precisions=", ".join(precisions)),
            )
    return {precision: flops(rate) for precision, rate in value.items()}


def day(value: Any) -> str:
    """Return a date as YYYY-MM or YYYY-MM-DD, from a TOML date or a string; raises QuantityError for another value."""
    written = str(value)
    if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])(-\d{2})?", written):
        raise QuantityError(
            _("`{written}` is not a date", written=written), _("write the date as 2026-11-21 or 2026-11")
        )
    return written


def _some(number: float, value: Any) -> float:
    if not number:
        raise QuantityError(
            _("the quantity `{value}` is 0", value=value), _("write a quantity above 0, or delete the line")
        )
    return number


def _read_items(value: Any, read: Callable[[Any], str], description: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise QuantityError(
            _("`{value}` is not {description}", value=value, description=description),
            _('write the list as ["ethernet"]'),
        )
    return tuple(read(item) for item in value)


def _text(value: Any, fix: str) -> str:
    if not isinstance(value, str):
        raise QuantityError(_("`{value}` has no unit", value=value), fix)
    return value


def _match(pattern: re.Pattern[str], value: Any, description: str, fix: str) -> re.Match[str]:
    match = pattern.fullmatch(_text(value, fix).strip())
    if match is None:
        raise QuantityError(
            _("`{value}` is not {description}", value=value[:60], description=description), fix
        )
    return match
