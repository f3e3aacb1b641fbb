"""Quantities in the spec: text with a unit outside, an integer of the base unit inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from clusterwright.units import parse_duration, parse_rate, parse_size


def _with_unit(parse: Callable[[str], int], hint: str) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not isinstance(value, str):
            raise ValueError(f"`{value}` has no unit; {hint}")  # noqa: TRY004 (pydantic reports ValueError only)
        return parse(value)

    return read


def _schema(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


Size = Annotated[
    int,
    BeforeValidator(_with_unit(parse_size, "write it as 512GiB or 3.2TB")),
    _schema(r"^\d+(\.\d+)?\s*([kKMGTP]i?)?B$", "512GiB"),
]
Rate = Annotated[
    int,
    BeforeValidator(_with_unit(parse_rate, "write it as 400Gbit/s (bits) or 50GB/s (bytes)")),
    _schema(r"^\d+(\.\d+)?\s*([kKMGT]?bit|([kKMGTP]i?)?B)/s$", "400Gbit/s"),
]
Duration = Annotated[
    int,
    BeforeValidator(_with_unit(parse_duration, "write it as 90s, 15m, 12h30m or 2d")),
    _schema(r"^(\d+\s*(min|[smhdw])\s*)+$", "12h30m"),
]
