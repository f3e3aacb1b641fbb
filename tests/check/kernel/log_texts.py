"""Recorded kernel logs in the formats of dmesg, journalctl and syslog, as the probe reports their lines."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from clusterwright.check.kernel.lines import KernelLine

_RAW = re.compile(r"^<(\d+)>")  # dmesg -r
_UPTIME = re.compile(r"^\[\s*(\d+\.\d+)\]\s?")  # dmesg
_LONG = re.compile(r"^\[\w{3} (\w{3}\s+\d+ \d\d:\d\d:\d\d \d{4})\]\s?")  # dmesg -T
_ISO = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:?\d\d)?\s?")
_SYSLOG = re.compile(r"^(\w{3}\s+\d+ \d\d:\d\d:\d\d)\s")
_EPOCH = re.compile(r"^(\d{9,}\.\d+)\s")  # journalctl -o short-unix
_FROM = re.compile(r"^(?:[\w.-]+ )?kernel:\s?(?:\[\s*\d+\.\d+\]\s?)?")


def read(text: str, *, boot_s: float = 0.0, year: int = 1970) -> tuple[KernelLine, ...]:
    """Parse a log as dmesg, journalctl or syslog prints it.

    `boot_s` is the Unix time of boot, `year` the year of syslog's dates, which lack it. A line without a time gets
    that of the line before it (continuation lines of one message); a time without a zone is UTC.
    """
    return tuple(_lines(text, boot_s, year))


def _lines(text: str, boot_s: float, year: int) -> Iterator[KernelLine]:
    time_s = boot_s
    for line in text.splitlines():
        raw = _RAW.match(line)
        body = line[raw.end() :] if raw else line
        line_time_s, body = _timed(body, boot_s, year)
        time_s = time_s if line_time_s is None else line_time_s
        if body.strip():
            # The facility is in the higher bits (RFC 5424, 6.2.1).
            yield KernelLine(time_s, int(raw[1]) % 8 if raw else None, _FROM.sub("", body, count=1).strip())


def _timed(line: str, boot_s: float, year: int) -> tuple[float | None, str]:
    """Split a line into its leading time (None without one) and the rest."""
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
        moment = datetime.strptime(text, form)
    except ValueError:
        return None  # a date in another language, or truncated
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
