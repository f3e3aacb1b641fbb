"""One measurement: subject, quantity, value, unit and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ARROW = ">"  # between two hosts of a pair, in the direction of the bytes

Condition = str | float | int | bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value of one quantity of one subject, in a base unit (bytes/s, s, FLOP/s, 1/s).

    `subject` is a host, a pair (`gpu-node1>gpu-node2`) or a group; `hosts` are those that took part.
    `conditions` must be equal for two values to be comparable: sizes, tools, the transport in use.
    """

    bench: str
    subject: str
    quantity: str
    unit: str
    value: float
    hosts: tuple[str, ...]
    conditions: Mapping[str, Condition] = field(default_factory=dict)


def pair(source: str, target: str) -> str:
    """Return the subject name of a directed pair: `SOURCE>TARGET`."""
    return f"{source}{ARROW}{target}"
