"""What the board's management controller wrote into its log of events (SEL)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from clusterwright.check.bmc import ask, silence
from clusterwright.check.fact import fact

_LAST = 200  # events: a log of thousands takes a BMC minutes to read out
_COMMAND = (
    f"ipmitool sel info && ipmitool sel time get && echo @ && ipmitool sel elist last {_LAST} && echo '@ END'"
)
# The date as the locale has it: 1.8.18 and before, then later releases; where that says AM and PM, that comes first.
_FORMS = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %H:%M:%S")
_LEAST_FIELDS = 5


@dataclass(frozen=True, slots=True)
class BmcEvent:
    """One event that is still asserted: seconds ago by the BMC's own clock, None where it had none yet."""

    sensor: str
    said: str
    ago_s: float | None


@dataclass(frozen=True, slots=True)
class BmcEvents:
    """The latest events that were not taken back, and how full the log is; or why there is nobody to ask."""

    found: tuple[BmcEvent, ...] = ()
    used_percent: int | None = None
    silent: str = ""


@fact("sh", "-c", ask(_COMMAND), limit_s=60)
def bmc_events(out: str) -> BmcEvents:
    """The last 200 events by `ipmitool sel elist`, without those that a later one deasserts."""
    if why := silence(out):
        return BmcEvents(silent=why)
    head, begun, rest = out.partition("\n@\n")
    *lines, last = rest.splitlines() or [""]
    if not begun or last != "@ END":
        raise ValueError(out[:80])
    *info, clock = head.splitlines()
    return BmcEvents(_standing(lines, _when(clock)), _used(info))


def _used(info: list[str]) -> int | None:
    told = [line.partition(":")[2].strip().rstrip("%") for line in info if line.startswith("Percent Used")]
    return int(told[0]) if told and told[0].isdigit() else None


def _standing(lines: list[str], now: datetime | None) -> tuple[BmcEvent, ...]:
    standing: dict[tuple[str, str], BmcEvent] = {}
    for line in lines:
        words = [word.strip() for word in line.split("|")]
        if len(words) < _LEAST_FIELDS:
            continue  # a record of the maker's own, or a text of the operating system's
        when, (sensor, said) = _when(f"{words[1]} {words[2]}"), words[3:5]
        ago = (now - when).total_seconds() if now and when else None
        standing.pop((sensor, said), None)
        if words[5:6] != ["Deasserted"]:
            standing[sensor, said] = BmcEvent(sensor, said, ago)
    return tuple(standing.values())


def _when(text: str) -> datetime | None:
    """The date and time, with or without a zone after them; None for `Pre-Init`, when the BMC had no time."""
    words = text.split()
    for form in _FORMS:
        try:
            return datetime.strptime(" ".join(words[: len(form.split())]), form)  # noqa: DTZ007 (the BMC's own clock, compared with itself)
        except ValueError:
            continue
    return None
