"""Parse timestamps of log lines."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

_ISO = re.compile(
    r"(?P<y>\d{4})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)[T _](?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?P<f>[.,]\d{1,9})?"
    r"\s?(?P<z>Z|UTC|[+-]\d\d:?\d\d)?"
)
_SYSLOG = re.compile(
    r"\b(?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<d>\d{1,2}) "
    r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?P<f>\.\d{1,9})?(?: (?P<y>\d{4}))?"
)
_GLOG = re.compile(r"\b[IWEF](?P<mo>\d\d)(?P<d>\d\d) (?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?P<f>\.\d{1,9})?\b")
_BOOT = re.compile(r"^\[ *(?P<t>\d{1,8}\.\d{3,6})\]")
_EPOCH = re.compile(r"^\[?(?P<t>1[5-9]\d{8}\.\d{1,9})\b")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
HEAD = 160  # characters in which a timestamp is searched


class Moment(NamedTuple):
    """Seconds and their clock: `utc`, `local` (time zone not given) or `boot`."""

    seconds: float
    clock: str


def moment(line: str, year: int) -> Moment | None:
    """Return the timestamp of a line, None without a valid one; `year` is that of timestamps without a year."""
    head = line[:HEAD]
    if match := _BOOT.search(head):
        return Moment(float(match["t"]), "boot")
    if match := _EPOCH.search(head):
        return Moment(float(match["t"]), "utc")
    for pattern in (_ISO, _SYSLOG, _GLOG):
        if match := pattern.search(head):
            return _parse_parts(match.groupdict(), year)
    return None


def _parse_parts(parts: dict[str, str | None], year: int) -> Moment | None:
    month = _MONTHS.index(parts["mon"] or "") + 1 if "mon" in parts else int(parts["mo"] or 0)
    zone = parts.get("z")
    try:
        when = datetime(
            int(parts.get("y") or year or 1970),
            month,
            int(parts["d"] or 0),
            int(parts["h"] or 0),
            int(parts["mi"] or 0),
            min(int(parts["s"] or 0), 59),
            tzinfo=_zone(zone),
        )
    except ValueError:
        return None
    fraction = float("0." + (parts.get("f") or ".0")[1:])
    return Moment(when.timestamp() + fraction, "utc" if zone else "local")


def _zone(text: str | None) -> timezone:
    if not text or text in {"Z", "UTC"}:
        return UTC
    digits = text[1:].replace(":", "")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if text.startswith("-") else ahead)
