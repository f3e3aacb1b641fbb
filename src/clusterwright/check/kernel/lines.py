"""Lines of a kernel log, from whatever form they were written in; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

WARNING = 4  # syslog(2): 4 and less is a warning or worse; what has no priority may be anything
MINUTE_S, HOUR_S = 60.0, 3600.0


@dataclass(frozen=True, slots=True)
class Line:
    """One line: when (seconds since the epoch, or since boot where only that is known), how grave, and what."""

    time_s: float
    priority: int | None
    text: str


_RAW = re.compile(r"^<(\d+)>")  # dmesg -r
_UPTIME = re.compile(r"^\[\s*(\d+\.\d+)\]\s?")  # dmesg
_LONG = re.compile(r"^\[\w{3} (\w{3}\s+\d+ \d\d:\d\d:\d\d \d{4})\]\s?")  # dmesg -T
_ISO = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?\s?")
_SYSLOG = re.compile(r"^(\w{3}\s+\d+ \d\d:\d\d:\d\d)\s")
_EPOCH = re.compile(r"^(\d{9,}\.\d+)\s")  # journalctl -o short-unix
_FROM = re.compile(r"^(?:[\w.-]+ )?kernel:\s?(?:\[\s*\d+\.\d+\]\s?)?")


def read(text: str, *, boot_s: float = 0.0, year: int = 1970) -> tuple[Line, ...]:
    """Every line of a log as dmesg, journalctl or syslog print it.

    `boot_s` is when uptimes began, `year` that of syslog's dates, which have none. A line without a time has that
    of the line before it, as the further lines of one message do; a time without a zone is taken for UTC.
    """
    return tuple(_lines(text, boot_s, year))


def _lines(text: str, boot_s: float, year: int) -> Iterator[Line]:
    time_s = boot_s
    for line in text.splitlines():
        raw = _RAW.match(line)
        body = line[raw.end() :] if raw else line
        line_time_s, body = _timed(body, boot_s, year)
        time_s = time_s if line_time_s is None else line_time_s
        if body.strip():
            # The facility is in the higher bits (RFC 5424, 6.2.1).
            yield Line(time_s, int(raw[1]) % 8 if raw else None, _FROM.sub("", body, count=1).strip())


def _timed(line: str, boot_s: float, year: int) -> tuple[float | None, str]:
    """The time that a line begins with, if any, and what follows it."""
    if match := _UPTIME.match(line):
        return boot_s + float(match[1]), line[match.end() :]
    if match := _EPOCH.match(line):
        return float(match[1]), line[match.end() :]
    if match := _LONG.match(line):
        return _seconds(match[1], "%b %d %H:%M:%S %Y"), line[match.end() :]
    if match := _ISO.match(line):
        zone = (match[2] or "Z").replace("Z", "+0000").replace(":", "")
        return _seconds(match[1].replace(" ", "T") + zone, "%Y-%m-%dT%H:%M:%S%z"), line[match.end() :]
    if match := _SYSLOG.match(line):
        return _seconds(f"{match[1]} {year}", "%b %d %H:%M:%S %Y"), line[match.end() :]
    return None, line


def _seconds(text: str, form: str) -> float | None:
    try:
        moment = datetime.strptime(text, form)  # noqa: DTZ007 (a zone is put in below where there is none)
    except ValueError:
        return None  # a date in another language, or torn
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_PCI = re.compile(r"(?:PCI:)?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?", re.IGNORECASE)


def pci(text: str) -> str:
    """One form for a PCI address, as the kernel's own without the function: `0000:3b:00`; nothing if it is none."""
    match = _PCI.fullmatch(text.strip())
    if not match:
        return ""
    *domain, bus, device = match[1].lower().split(":")
    return f"{int(domain[0], 16) if domain else 0:04x}:{bus}:{device}"
