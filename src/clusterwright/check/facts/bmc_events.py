"""The BMC's System Event Log (SEL)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from clusterwright.check.bmc import bmc_command, unavailable_reason
from clusterwright.check.fact import fact

_LAST = 200  # events: reading thousands takes a BMC minutes
_COMMAND = (
    f"ipmitool sel info && ipmitool sel time get && echo @ && ipmitool sel elist last {_LAST} && echo '@ END'"
)
# Dates of ipmitool: up to 1.8.18, then the locale's forms of later releases; forms with AM and PM first.
_FORMS = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %H:%M:%S")
_LEAST_FIELDS = 5


@dataclass(frozen=True, slots=True)
class BmcEvent:
    """One asserted event; `ago_s` is by the BMC's own clock, None where the clock was not set."""

    sensor: str
    description: str
    ago_s: float | None


@dataclass(frozen=True, slots=True)
class BmcEvents:
    """The latest asserted events and the fill level of the log; or why the BMC cannot be queried."""

    events: tuple[BmcEvent, ...] = ()
    used_percent: int | None = None
    unavailable: str = ""


@fact("sh", "-c", bmc_command(_COMMAND), limit_s=60, right="root")
def bmc_events(out: str) -> BmcEvents:
    """The last 200 events of `ipmitool sel elist`, without those that a later event deasserts.

    Also the fill level of the log; or only the reason where there is no BMC, driver or tool.
    """
    if reason := unavailable_reason(out):
        return BmcEvents(unavailable=reason)
    head, begun, tail = out.partition("\n@\n")
    *lines, last = tail.splitlines() or [""]
    if not begun or last != "@ END":
        raise ValueError(out[:80])
    *info, clock = head.splitlines()
    return BmcEvents(_active_events(lines, _when(clock)), _used(info))


def _used(info: list[str]) -> int | None:
    values = [line.partition(":")[2].strip().rstrip("%") for line in info if line.startswith("Percent Used")]
    return int(values[0]) if values and values[0].isdigit() else None


def _active_events(lines: list[str], now: datetime | None) -> tuple[BmcEvent, ...]:
    active: dict[tuple[str, str], BmcEvent] = {}
    for line in lines:
        fields = [field.strip() for field in line.split("|")]
        if len(fields) < _LEAST_FIELDS:
            continue  # an OEM record, or a text of the operating system
        when, (sensor, description) = _when(f"{fields[1]} {fields[2]}"), fields[3:5]
        ago = (now - when).total_seconds() if now and when else None
        active.pop((sensor, description), None)
        if fields[5:6] != ["Deasserted"]:
            active[sensor, description] = BmcEvent(sensor, description, ago)
    return tuple(active.values())


def _when(text: str) -> datetime | None:
    """Parse a date and time with an optional zone; None for `Pre-Init` (clock not set)."""
    tokens = text.split()
    for form in _FORMS:
        try:
            return datetime.strptime(" ".join(tokens[: len(form.split())]), form)  # noqa: DTZ007 (the BMC's own clock, compared with itself)
        except ValueError:
            continue
    return None
