"""Quantities in the spec: a string with a unit in the file, an integer of the base unit in the model.

Frequencies and hang timeouts are a number of steps, a duration, or `auto` and `never`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from clusterwright.config.field import Section, refuse
from clusterwright.i18n import N_, _
from clusterwright.units import (
    DURATION_PATTERN,
    RATE_PATTERN,
    SIZE_PATTERN,
    QuantityError,
    parse_duration,
    parse_rate,
    parse_size,
)

_STEPS = re.compile(r"([0-9]{1,12}) ?steps?")
_STEPS_PATTERN = "[0-9]{1,12} ?steps?"
_LEAST_STANDSTILL_S, _MOST_STANDSTILL_S = 2, 86400


def _read(parse: Callable[[str], int], fix: str) -> BeforeValidator:
    def read(value: Any) -> int:
        if not isinstance(value, str):
            raise refuse("bad-quantity", _("`{value}` has no unit", value=value), _(fix))
        try:
            number = parse(value)
        except QuantityError as error:
            raise refuse("bad-quantity", error.message, error.fix) from error
        if number == 0:
            fix_or_remove = _("{fix}, or remove the line", fix=_(fix))
            raise refuse("bad-quantity", _("`{value}` is zero", value=value), fix_or_remove)
        return number

    return BeforeValidator(read)


def _schema(kind: str, pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "string", "pattern": f"^{pattern}$", "examples": [example], "quantity": kind}
    )


Size = Annotated[
    int, _read(parse_size, N_("write the size as 512GiB or 3.2TB")), _schema("size", SIZE_PATTERN, "512GiB")
]
Rate = Annotated[
    int,
    _read(parse_rate, N_("write the rate as 400Gbit/s (bits) or 50GB/s (bytes)")),
    _schema("rate", RATE_PATTERN, "400Gbit/s"),
]
Duration = Annotated[
    int,
    _read(parse_duration, N_("write the duration as 90s, 15m, 12h30m or 2d")),
    _schema("duration", DURATION_PATTERN, "12h30m"),
]


class Every(Section):
    """An interval: a number of steps or of seconds; one of the two is set."""

    steps: int | None = None
    seconds: int | None = None


def _every(value: Any) -> Every:
    fix = _("write the interval as 100 steps or 10m")
    if isinstance(value, Every):
        return value
    if not isinstance(value, str):
        raise refuse("bad-quantity", _("`{value}` has no unit", value=value), fix)
    match = _STEPS.fullmatch(value.strip())
    try:
        every = Every(steps=int(match[1])) if match else Every(seconds=parse_duration(value))
    except QuantityError as error:
        message = _("{message}, and not a number of steps", message=error.message)
        raise refuse("bad-quantity", message, fix) from error
    if not (every.steps or every.seconds):
        raise refuse("bad-quantity", _("`{value}` is zero", value=value), fix)
    return every


def _memory_frequency(value: Any) -> Every | str:
    if value in ("auto", "never"):
        return str(value)
    every = _every(value)
    if every.seconds:
        message = _("`{value}` is a duration, but in-memory checkpoints take a number of steps", value=value)
        raise refuse("bad-quantity", message, _("write auto, never or 1 step"))
    return every


def _standstill(value: Any) -> int | str:
    if value in ("auto", "never"):
        return str(value)
    seconds = _every(value).seconds
    if not seconds or not _LEAST_STANDSTILL_S <= seconds <= _MOST_STANDSTILL_S:
        message = _(
            "`{value}` is not a duration from {least} s to 1 day", value=value, least=_LEAST_STANDSTILL_S
        )
        raise refuse("bad-quantity", message, _("write auto, never or 10m"))
    return seconds


def _form_schema(pattern: str, example: str, form: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "string", "pattern": f"^({pattern})$", "examples": [example], "form": form}
    )


Frequency = Annotated[
    Every,
    BeforeValidator(_every),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^({_STEPS_PATTERN}|{DURATION_PATTERN})$",
            "examples": ["100 steps", "10m"],
            "form": N_("a number of steps, or a duration"),
        }
    ),
]
MemoryCheckpointFrequency = Annotated[
    Every | Literal["auto", "never"],
    BeforeValidator(_memory_frequency),
    _form_schema(f"auto|never|{_STEPS_PATTERN}", "1 step", N_("auto, never, or a number of steps")),
]
Standstill = Annotated[
    int | Literal["auto", "never"],
    BeforeValidator(_standstill),
    _form_schema(f"auto|never|{DURATION_PATTERN}", "10m", N_("auto, never, or a duration")),
]
