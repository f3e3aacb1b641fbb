"""Types of fields for frequencies and hang timeouts: a number of steps, a duration, or `auto` and `never`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from clusterwright.config.field import Section, refuse
from clusterwright.i18n import N_, _
from clusterwright.units import DURATION_PATTERN, QuantityError, parse_duration

_STEPS = re.compile(r"([0-9]{1,12}) ?steps?")
_STEPS_PATTERN = "[0-9]{1,12} ?steps?"
_LEAST_STANDSTILL_S, _MOST_STANDSTILL_S = 2, 86400


class Every(Section):
    """An interval: a number of steps or of seconds; one of the two is set."""

    steps: int | None = None
    seconds: int | None = None


def _every(value: Any) -> Every:
    fix = _("write it as 100 steps or 10m")
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


def _schema(pattern: str, example: str, form: str) -> WithJsonSchema:
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
    _schema(f"auto|never|{_STEPS_PATTERN}", "1 step", N_("auto, never, or a number of steps")),
]
Standstill = Annotated[
    int | Literal["auto", "never"],
    BeforeValidator(_standstill),
    _schema(f"auto|never|{DURATION_PATTERN}", "10m", N_("auto, never, or a duration")),
]
