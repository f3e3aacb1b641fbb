"""Parse Slurm's forms of times, durations, sizes and resources."""

from __future__ import annotations

import calendar
import re
from functools import lru_cache

from clusterwright.i18n import N_, _

_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)[nc]?")
_NOTHING = frozenset({"", "Unknown", "None", "N/A", "(null)", "INVALID"})
ENDLESS = frozenset({"UNLIMITED", "Partition_Limit"})
_DAY_S, _CLOCK_LENGTH = 86400, 8
_FIRST_YEAR, _MONTHS = 1970, 12


class UnreadableError(ValueError):
    """A text that is not a quantity; `kind` describes the problem without the text."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(_("`{text}` is {problem}", text=text[:40], problem=_(kind)))
        self.kind = kind


def moment(text: str) -> float | None:
    """Parse a time, `2026-11-23T02:50:00` (taken as UTC) or `1763866200`, into epoch seconds; None for no value.

    Raises:
        ValueError: the text is not a time.
    """
    if text in _NOTHING:
        return None
    if text.isdigit():
        return float(text)
    date, _, clock = text.partition("T")
    if len(clock) != _CLOCK_LENGTH or clock[2] != ":" or clock[5] != ":":
        raise UnreadableError(text, N_("not a time"))
    hours, minutes, seconds = int(clock[:2]), int(clock[3:5]), int(clock[6:])
    if hours > 23 or minutes > 59 or seconds > 60:
        raise UnreadableError(text, N_("not a time"))
    return float(_day(date) + 3600 * hours + 60 * minutes + seconds)


@lru_cache(maxsize=4096)
def _day(text: str) -> int:
    match = _DATE.fullmatch(text)
    year, month, day = map(int, match.groups()) if match else (0, 0, 0)
    if (
        not match
        or year < _FIRST_YEAR
        or not 1 <= month <= _MONTHS
        or not 1 <= day <= calendar.monthrange(year, month)[1]
    ):
        raise UnreadableError(text, N_("not a date"))
    return calendar.timegm((year, month, day, 0, 0, 0))


@lru_cache(maxsize=65536)
def span(text: str) -> float | None:
    """Parse a Slurm duration (`1-02:30:00`, `30:00`, `00:01.250`) into seconds; None for unlimited or no value.

    Raises:
        ValueError: the text is not a duration.
    """
    if text in _NOTHING or text in ENDLESS:
        return None
    match = _CLOCK.fullmatch(text)
    if not match:
        raise UnreadableError(text, N_("not a duration"))
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(days * _DAY_S + hours * 3600 + minutes * 60 + seconds)


def size(text: str) -> int | None:
    """Parse a Slurm size (`4000M`, `1.50G`, `0`, in older releases with n or c) into bytes; None for other texts."""
    match = _SIZE.fullmatch(text)
    return int(float(match[1]) * _UNITS[match[2]]) if match else None


@lru_cache(maxsize=65536)
def resources(text: str) -> dict[str, str]:
    """Parse a TRES text such as `cpu=8,gres/gpu=4,mem=64G` into values by name; items without `=` are skipped."""
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


def gpus(text: str) -> int:
    """Return the number of GPUs in a TRES text; the sum over types if there is no total."""
    amounts = resources(text)
    if "gres/gpu" in amounts:
        return _count(amounts["gres/gpu"])
    return sum(_count(count) for name, count in amounts.items() if name.startswith("gres/gpu:"))


def parse_count(text: str) -> int:
    """Parse a count such as `12` or `1.5K`; 0 for other texts."""
    return _count(text)


def _count(text: str) -> int:
    if text.isdigit():
        return int(text)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KM])", text)
    return int(float(match[1]) * (1000 if match[2] == "K" else 1_000_000)) if match else 0
