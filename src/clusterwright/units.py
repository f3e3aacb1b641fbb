"""Sizes, rates and durations with their unit written out; imports nothing of ours.

Inside the program a size is an integer of bytes, a rate an integer of bits per second and a duration an
integer of seconds. GB is 10^9 bytes and GiB 2^30 (IEC 80000-13). A number without a unit is refused: Slurm
reads a bare 90 as minutes and a bare memory as MiB, other tools do not agree.
"""

from __future__ import annotations

import re
from decimal import Decimal

from clusterwright.i18n import _

KiB, MiB, GiB, TiB, PiB = 2**10, 2**20, 2**30, 2**40, 2**50
KB, MB, GB, TB, PB = 10**3, 10**6, 10**9, 10**12, 10**15
MINUTE_S, HOUR_S, DAY_S, WEEK_S = 60, 3600, 86400, 604800

MAX_INT64 = 2**63 - 1  # what Slurm, SQLite and JSON readers of other languages can hold

_SIZES = {
    "B": 1, "kB": KB, "KB": KB, "MB": MB, "GB": GB, "TB": TB, "PB": PB,
    "KiB": KiB, "MiB": MiB, "GiB": GiB, "TiB": TiB, "PiB": PiB,
}  # fmt: skip
_BIT_RATES = {"bit/s": 1, "kbit/s": KB, "Kbit/s": KB, "Mbit/s": MB, "Gbit/s": GB, "Tbit/s": TB}
_RATES = _BIT_RATES | {f"{unit}/s": 8 * factor for unit, factor in _SIZES.items()}
_DURATIONS = {"s": 1, "m": MINUTE_S, "min": MINUTE_S, "h": HOUR_S, "d": DAY_S, "w": WEEK_S}

# Twenty digits hold every 64-bit number; more is a slip, or an attempt to keep the reader busy.
_NUMBER = r"[0-9]{1,20}(\.[0-9]{1,20})?"
SIZE_PATTERN = rf"{_NUMBER} ?({'|'.join(_SIZES)})"
RATE_PATTERN = rf"{_NUMBER} ?({'|'.join(_RATES)})"
DURATION_PATTERN = r"([0-9]{1,20} ?(min|[smhdw]) ?)+"

_NUMBER_UNIT = re.compile(rf"({_NUMBER}) ?([A-Za-z/]+)")
_DURATION = re.compile(DURATION_PATTERN)
_DURATION_PART = re.compile(r"([0-9]+) ?(min|[smhdw])")
_MAX_TEXT = 60  # the longest sensible quantity is under 30 characters
_CAPACITY_SLIP = {
    unit.lower(): unit for unit in ("KiB", "MiB", "GiB", "TiB", "PiB", "kB", "MB", "GB", "TB", "PB")
}


class QuantityError(ValueError):
    """A text that is no quantity; `fix` says how to write it."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(f"{message}; {fix}")
        self.message, self.fix = message, fix


def parse_size(text: str) -> int:
    """Bytes of `512GiB` or `3.2TB`.

    Raises:
        QuantityError: no unit, an unknown unit, a fraction of a byte, or more than 64 bits hold.
    """
    return _scaled(text, _SIZES, "size", "write it with a unit, e.g. 512GiB or 3.2TB")


def parse_rate(text: str) -> int:
    """Bits per second of `400Gbit/s` (bits) or `50GB/s` (bytes).

    Raises:
        QuantityError: no unit, an unknown unit, a fraction of a bit, or more than 64 bits hold.
    """
    return _scaled(text, _RATES, "rate", "write bits as 400Gbit/s or bytes as 50GB/s")


def parse_duration(text: str) -> int:
    """Seconds of `90s`, `12h`, `1d12h` or `12h30m`.

    Raises:
        QuantityError: no unit, an unknown unit, a clock form such as 12:30:00, or more than 64 bits hold.
    """
    stripped = text.strip()
    if ":" in stripped:
        raise QuantityError(
            _("`{short}` is a clock form", short=_short(text)), _("write the units, e.g. 12h30m or 90s")
        )
    if len(stripped) > _MAX_TEXT or not _DURATION.fullmatch(stripped):
        raise QuantityError(
            _("`{short}` is not a duration", short=_short(text)),
            _("write the units, e.g. 90s, 15m, 12h30m or 2d"),
        )
    parts = _DURATION_PART.findall(stripped)
    return _check_int64(sum(int(number) * _DURATIONS[unit] for number, unit in parts), text)


def format_size(size_bytes: int) -> str:
    """The shortest exact form: binary unit if it divides, else decimal, else bytes."""
    binary = (("PiB", PiB), ("TiB", TiB), ("GiB", GiB), ("MiB", MiB), ("KiB", KiB))
    decimal = (("PB", PB), ("TB", TB), ("GB", GB), ("MB", MB), ("kB", KB), ("B", 1))
    return _shortest(size_bytes, binary + decimal)


def format_rate(rate_bits_per_s: int) -> str:
    """The shortest exact form in bits per second: `25Gbit/s`."""
    units = (("Tbit/s", TB), ("Gbit/s", GB), ("Mbit/s", MB), ("kbit/s", KB), ("bit/s", 1))
    return _shortest(rate_bits_per_s, units)


def format_duration(duration_s: int) -> str:
    """`1d12h30m`; `0s` for none."""
    text, remainder = "", duration_s
    for unit, factor in (("d", DAY_S), ("h", HOUR_S), ("m", MINUTE_S), ("s", 1)):
        number, remainder = divmod(remainder, factor)
        text += f"{number}{unit}" if number else ""
    return text or "0s"


def format_slurm_time(duration_s: int) -> str:
    """Slurm's `D-HH:MM:SS`, rounded up to a whole second by being one."""
    days, remainder = divmod(duration_s, DAY_S)
    hours, remainder = divmod(remainder, HOUR_S)
    minutes, seconds = divmod(remainder, MINUTE_S)
    return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"


def _shortest(value: int, units: tuple[tuple[str, int], ...]) -> str:
    for unit, factor in units:
        if value >= factor and value % factor == 0:
            return f"{value // factor}{unit}"
    return f"{value}{units[-1][0]}"


def _scaled(text: str, units: dict[str, int], kind: str, fix: str) -> int:
    match = _NUMBER_UNIT.fullmatch(text.strip()) if len(text) <= _MAX_TEXT else None
    if match is None or match[3] not in units:
        raise QuantityError(
            _("`{short}` is not a {kind}", short=_short(text), kind=kind), _closest_fix(match, units, fix)
        )
    value = Decimal(match[1]) * units[match[3]]
    if value != value.to_integral_value():
        raise QuantityError(_("`{text}` is a fraction of the smallest unit", text=text), fix)
    return _check_int64(int(value), text)


def _closest_fix(match: re.Match[str] | None, units: dict[str, int], fix: str) -> str:
    """The fix with the user's own number, where only the unit's letters are wrong: `64G`, `64gb`."""
    if match is None or "B" not in units:
        return fix
    letters = match[3].lower()
    unit = _CAPACITY_SLIP.get(letters) or _CAPACITY_SLIP.get(f"{letters}ib")
    return f"write {match[1]}{unit}" if unit else fix


def _check_int64(value: int, text: str) -> int:
    if value > MAX_INT64:
        raise QuantityError(
            _("`{short}` is more than 64 bits hold ({max_int64})", short=_short(text), max_int64=MAX_INT64),
            _("write a smaller one"),
        )
    return value


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."
