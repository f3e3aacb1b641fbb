"""Read the events of a BMC's log as ipmitool prints them, and the times at which its host was hot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

Heat = Literal["hot", "fan", "throttled"]
# Dates of ipmitool: up to 1.8.18, then the locale's forms of later releases; forms with AM and PM first.
_FORMS = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %H:%M:%S")
_LEAST_FIELDS = 5
# IPMI 2.0, tables 42-2 and 42-3: sensor types and their events.
_HEAT: tuple[tuple[Heat, re.Pattern[str]], ...] = (
    ("hot", re.compile(r"^Temperature\b.*\|(?:Upper .+ going high|.*Thermal Trip)|\|Thermal Trip")),
    ("fan", re.compile(r"^Fan\b.*\|Lower .+ going low")),
    ("throttled", re.compile(r"^Processor\b.*\|(?:.*[Tt]hrottled)")),
)
_NUMBER = re.compile(r"Reading (-?[\d.]+)")


@dataclass(frozen=True, slots=True)
class SelEvent:
    """One event: its sensor with the sensor's type, what happened, and whether it began or ended."""

    when: datetime | None
    sensor: str
    description: str
    is_asserted: bool
    reading: str


@dataclass(frozen=True, slots=True)
class HeatPeriod:
    """A time in which a sensor was too hot, a fan too slow or a processor throttled; `end` is None if it lasts."""

    kind: Heat
    sensor: str
    begin: datetime
    end: datetime | None
    reading: str  # the number of its worst event, with its unit; "" without one


def parse_time(text: str) -> datetime | None:
    """Parse a date and time with an optional zone; None for `Pre-Init` (clock not set)."""
    tokens = text.split()
    for form in _FORMS:
        try:
            return datetime.strptime(" ".join(tokens[: len(form.split())]), form)  # noqa: DTZ007 (the BMC's own clock, compared with itself)
        except ValueError:
            continue
    return None


def parse_event(line: str) -> SelEvent | None:
    """Parse a line of `ipmitool sel list` or `sel elist`; None for an OEM record or another text."""
    fields = [field.strip() for field in line.split("|")]
    if len(fields) < _LEAST_FIELDS:
        return None
    reading = " ".join(fields[6:7])
    is_asserted = fields[5:6] != ["Deasserted"]
    return SelEvent(parse_time(f"{fields[1]} {fields[2]}"), fields[3], fields[4], is_asserted, reading)


def heat_periods(events: Iterable[SelEvent]) -> tuple[HeatPeriod, ...]:
    """Return the periods in which a sensor was above a limit, by their begin.

    A period lasts from the sensor's first limit until none is exceeded; its end is None if that is not logged.
    """
    begun: dict[tuple[Heat, str], tuple[SelEvent, set[str]]] = {}
    periods: list[HeatPeriod] = []
    for event in events:
        for kind in _kinds(event):
            key = (kind, event.sensor)
            if event.is_asserted:
                worst, limits = begun.get(key, (event, set()))
                hotter = event if _reading(event) > _reading(worst) else worst
                limits.add(event.description)
                begun[key] = (replace(hotter, when=worst.when), limits)
            elif key in begun:
                worst, limits = begun[key]
                limits.discard(event.description)
                if not limits:
                    del begun[key]
                    periods += _period(kind, worst, event.when)
    for (kind, _sensor), (worst, _limits) in begun.items():
        periods += _period(kind, worst, None)
    return tuple(sorted(periods, key=lambda period: period.begin))


def _kinds(event: SelEvent) -> Iterator[Heat]:
    text = f"{event.sensor}|{event.description}"
    yield from (kind for kind, pattern in _HEAT if pattern.search(text))


def _reading(event: SelEvent) -> float:
    match = _NUMBER.search(event.reading)
    return float(match[1]) if match else 0.0


def _period(kind: Heat, worst: SelEvent, end: datetime | None) -> Iterator[HeatPeriod]:
    """Yield one period of heat, from its worst event to `end`; nothing if the BMC's clock was not set at its begin."""
    match = _NUMBER.search(worst.reading)
    unit = worst.reading.partition("Threshold")[2].split(maxsplit=1)[1:]
    reading = " ".join((match[1], *unit)) if match else ""
    if worst.when is not None:
        yield HeatPeriod(kind, worst.sensor, worst.when, end, reading)
