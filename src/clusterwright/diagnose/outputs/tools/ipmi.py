"""`ipmitool sel elist` and `sdr type temperature`: when a host was hot, and its sensors now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clusterwright.check.bmc_log import Heat, HeatPeriod, heat_periods, parse_event
from clusterwright.diagnose.outputs.value import Finding, Normal, Row, parse_number
from clusterwright.i18n import _
from clusterwright.units import human_duration

MOST_PERIODS = 3  # that a finding names, the last ones
_SENSOR = re.compile(
    r"^(?P<name>[^|]+?)\s*\|\s*(?:[0-9A-Fa-f]+h\s*\|\s*)?(?P<state>ok|[lu]?(?:nc|cr|nr))\s*\|\s*(?:[\d.]+\s*\|\s*)?"
    r"(?P<value>-?[\d.]+) (?P<unit>degrees C|RPM)\s*$"
)


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield a finding for each sensor with events of heat, and for each out of its limits now.

    If sensors have temperatures and all are within their limits, one normal value names the highest.
    """
    events = [(row, event) for row in rows if (event := parse_event(row.text))]
    last_rows = {event.sensor: row for row, event in events if event.is_asserted}
    by_sensor: dict[tuple[Heat, str], list[HeatPeriod]] = {}
    for period in heat_periods(event for _row, event in events):
        by_sensor.setdefault((period.kind, period.sensor), []).append(period)
    for (kind, sensor), periods in by_sensor.items():
        yield Finding(last_rows[sensor], f"ipmi: {kind} {_name(sensor)}, {_history(periods)}")
    yield from _sensors(rows)


def _name(sensor: str) -> str:
    """Return the name of a sensor without its type: CPU1 Temp of `Temperature CPU1 Temp`."""
    kind, _space, name = sensor.partition(" ")
    return name if name and kind in ("Temperature", "Fan") else sensor


def _history(periods: Sequence[HeatPeriod]) -> str:
    ended = [(period.end - period.begin).total_seconds() for period in periods if period.end]
    times = ", ".join(map(_span, periods[-MOST_PERIODS:]))
    reading = max(periods, key=lambda period: parse_number(period.reading.partition(" ")[0]) or 0.0).reading
    count = f"{len(periods)} time{'s' * (len(periods) > 1)}"
    total = f", {human_duration(sum(ended))} in all" if sum(ended) else ""
    return f"{count}{total}{f', {reading}' if reading else ''}: {times}"


def _span(period: HeatPeriod) -> str:
    begin = f"{period.begin:%Y-%m-%d %H:%M}"
    if period.end is None:
        return begin if period.kind == "throttled" else f"since {begin}"
    is_same_day = period.end.date() == period.begin.date()
    return f"{begin} to {period.end:{'%H:%M' if is_same_day else '%Y-%m-%d %H:%M'}}"


def _sensors(rows: Sequence[Row]) -> Iterator[Finding | Normal]:
    sensors = [(row, match) for row in rows if (match := _SENSOR.match(row.text))]
    temperatures = [(row, match) for row, match in sensors if match["unit"] == "degrees C"]
    for row, match in sensors:
        if match["state"] != "ok":
            kind = "hot" if match["unit"] == "degrees C" else "fan"
            yield Finding(row, f"ipmi: {kind} {match['name']}, now: {match['value']} {match['unit']}")
    if temperatures and all(match["state"] == "ok" for _row, match in sensors):
        row, hottest = max(temperatures, key=lambda pair: float(pair[1]["value"]))
        sentence = _(
            "All {count} temperatures are within their limits, the highest is {sensor} with {value} °C: normal.",
            count=len(temperatures),
            sensor=hottest["name"],
            value=hottest["value"],
        )
        yield Normal(row, sentence)
