"""Quantities in the spec: a string with a unit in the file, an integer of the base unit in the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from clusterwright.config.field import refuse
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
    int, _read(parse_size, N_("write it as 512GiB or 3.2TB")), _schema("size", SIZE_PATTERN, "512GiB")
]
Rate = Annotated[
    int,
    _read(parse_rate, N_("write it as 400Gbit/s (bits) or 50GB/s (bytes)")),
    _schema("rate", RATE_PATTERN, "400Gbit/s"),
]
Duration = Annotated[
    int,
    _read(parse_duration, N_("write it as 90s, 15m, 12h30m or 2d")),
    _schema("duration", DURATION_PATTERN, "12h30m"),
]
