"""The BMC's System Event Log (SEL)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from clusterwright.check.bmc import bmc_command, unavailable_reason
from clusterwright.check.bmc_log import SelEvent, heat_periods, parse_event, parse_time
from clusterwright.check.fact import fact

_LAST = 200  # events: reading thousands takes a BMC minutes
_COMMAND = (
    f"ipmitool sel info && ipmitool sel time get && echo @ && ipmitool sel elist last {_LAST} && echo '@ END'"
)


@dataclass(frozen=True, slots=True)
class BmcEvent:
    """One asserted event; `ago_s` is by the BMC's own clock, None where the clock was not set."""

    sensor: str
    description: str
    ago_s: float | None


@dataclass(frozen=True, slots=True)
class BmcHeat:
    """A time in which a sensor was too hot (`hot`), a fan too slow (`fan`) or a processor `throttled`, and its end."""

    kind: str
    sensor: str
    begin: str  # 2026-11-27 02:14, by the clock of the BMC
    duration_s: float | None  # None: it lasts
    ago_s: float  # since its begin
    reading: str


@dataclass(frozen=True, slots=True)
class BmcEvents:
    """The latest asserted events, the fill level of the log and the hot times; or why the BMC cannot be queried."""

    events: tuple[BmcEvent, ...] = ()
    used_percent: int | None = None
    unavailable: str = ""
    heat: tuple[BmcHeat, ...] = ()


@fact("sh", "-c", bmc_command(_COMMAND), limit_s=60, permission="root")
def bmc_events(out: str) -> BmcEvents:
    """The last 200 events of `ipmitool sel elist`, without those that a later event deasserts.

    Also the fill level of the log, and hot times also where they have ended; or only the reason where there is no BMC,
    driver or tool.
    """
    if reason := unavailable_reason(out):
        return BmcEvents(unavailable=reason)
    head, begun, tail = out.partition("\n@\n")
    *lines, last = tail.splitlines() or [""]
    if not begun or last != "@ END":
        raise ValueError(out[:80])
    *info, clock = head.splitlines()
    events = [event for line in lines if (event := parse_event(line))]
    now = parse_time(clock)
    return BmcEvents(_active_events(events, now), _used(info), heat=tuple(_heat(events, now)))


def _used(info: list[str]) -> int | None:
    values = [line.partition(":")[2].strip().rstrip("%") for line in info if line.startswith("Percent Used")]
    return int(values[0]) if values and values[0].isdigit() else None


def _active_events(events: list[SelEvent], now: datetime | None) -> tuple[BmcEvent, ...]:
    active: dict[tuple[str, str], BmcEvent] = {}
    for event in events:
        key = (event.sensor, event.description)
        ago = (now - event.when).total_seconds() if now and event.when else None
        active.pop(key, None)
        if event.is_asserted:
            active[key] = BmcEvent(event.sensor, event.description, ago)
    return tuple(active.values())


def _heat(events: list[SelEvent], now: datetime | None) -> Iterator[BmcHeat]:
    for period in heat_periods(events) if now else ():
        duration = (period.end - period.begin).total_seconds() if period.end else None
        ago = (now - period.begin).total_seconds() if now else 0.0
        yield BmcHeat(
            period.kind, period.sensor, f"{period.begin:%Y-%m-%d %H:%M}", duration, ago, period.reading
        )
