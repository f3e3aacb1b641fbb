"""Sizes, rates and durations with their unit written out; imports no other module of the package.

Inside the program a size is an integer of bytes, a rate an integer of bits per second and a duration an integer of
seconds. GB is 10^9 bytes and GiB 2^30 (IEC 80000-13). A number without a unit is refused: Slurm reads a bare 90 as
minutes and a bare memory as MiB, other tools do not agree.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

from clusterwright.i18n import N_, _

KiB, MiB, GiB, TiB, PiB = 2**10, 2**20, 2**30, 2**40, 2**50
KB, MB, GB, TB, PB = 10**3, 10**6, 10**9, 10**12, 10**15
MINUTE_S, HOUR_S, DAY_S, WEEK_S = 60, 3600, 86400, 604800

_DAYS = (("d", DAY_S), ("h", HOUR_S))  # pairs of a larger and a smaller unit for durations in texts
_HOURS = (("h", HOUR_S), ("min", MINUTE_S))
_MINUTES = (("min", MINUTE_S), ("s", 1))

MAX_INT64 = 2**63 - 1  # the largest integer that Slurm, SQLite and JSON readers of other languages can hold

_SIZES = {
    "B": 1, "kB": KB, "KB": KB, "MB": MB, "GB": GB, "TB": TB, "PB": PB,
    "KiB": KiB, "MiB": MiB, "GiB": GiB, "TiB": TiB, "PiB": PiB,
}  # fmt: skip
_BIT_RATES = {"bit/s": 1, "kbit/s": KB, "Kbit/s": KB, "Mbit/s": MB, "Gbit/s": GB, "Tbit/s": TB}
_RATES = _BIT_RATES | {f"{unit}/s": 8 * factor for unit, factor in _SIZES.items()}
_POWERS = {"W": 1, "kW": KB, "MW": MB}
_DURATIONS = {"s": 1, "m": MINUTE_S, "min": MINUTE_S, "h": HOUR_S, "d": DAY_S, "w": WEEK_S}

# Twenty digits hold every 64-bit number; more are a typo, or an attempt to keep the parser busy.
_NUMBER = r"[0-9]{1,20}(\.[0-9]{1,20})?"
SIZE_PATTERN = rf"{_NUMBER} ?({'|'.join(_SIZES)})"
RATE_PATTERN = rf"{_NUMBER} ?({'|'.join(_RATES)})"
DURATION_PATTERN = r"([0-9]{1,20} ?(min|[smhdw]) ?)+"

_NUMBER_UNIT = re.compile(rf"({_NUMBER}) ?([A-Za-z/]+)")
_DURATION = re.compile(DURATION_PATTERN)
_DURATION_PART = re.compile(r"([0-9]+) ?(min|[smhdw])")
_RATE_SLIP = re.compile(r"([KMGTkmgt])i?(B|b|bit|bits|)(ps|/s|)")
_CLOCK = re.compile(r"(?:(\d{1,5})-)?(\d{1,4}):(\d{2})(?::(\d{2}))?")
_WORDED = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]*)")
_UNIT_NAMES = {"sec": "s", "min": "m", "hour": "h", "hr": "h", "day": "d", "week": "w"}
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
    """Return the bytes of a size such as `512GiB` or `3.2TB`.

    Raises:
        QuantityError: no unit, an unknown unit, a fraction of a byte, or more than 64 bits hold.
    """
    return _scaled(
        text, _SIZES, N_("`{text}` is not a size"), N_("write the size with a unit, e.g. 512GiB or 3.2TB")
    )


def parse_rate(text: str) -> int:
    """Return the bits per second of a rate such as `400Gbit/s` (bits) or `50GB/s` (bytes).

    Raises:
        QuantityError: no unit, an unknown unit, a fraction of a bit, or more than 64 bits hold.
    """
    return _scaled(
        text,
        _RATES,
        N_("`{text}` is not a rate"),
        N_("write the rate in bits as 400Gbit/s, or in bytes as 50GB/s"),
    )


def parse_power(text: str) -> float:
    """Parse a power such as `2200W` or `40kW` into watts.

    Raises:
        QuantityError: no unit, or an unknown unit.
    """
    match = _NUMBER_UNIT.fullmatch(text.strip()) if len(text) <= _MAX_TEXT else None
    if match is None or match[3] not in _POWERS:
        unit = next((unit for unit in _POWERS if match and unit.lower() == match[3].lower()), "")
        raise QuantityError(
            _("`{text}` is not a power", text=_short(text)),
            _("write {quantity}", quantity=f"{match[1]}{unit}")
            if match and unit
            else _("write the power as 2200W or 40kW"),
        )
    return float(match[1]) * _POWERS[match[3]]


def parse_duration(text: str) -> int:
    """Return the seconds of a duration such as `90s`, `12h`, `1d12h` or `12h30m`.

    Raises:
        QuantityError: no unit, an unknown unit, a clock form such as 12:30:00, or more than 64 bits hold.
    """
    stripped = text.strip()
    if ":" in stripped:
        duration_s = _of_clock(stripped)
        raise QuantityError(
            _("`{text}` is a clock time, not a duration", text=_short(text)),
            _("write {quantity}", quantity=format_duration(duration_s))
            if duration_s
            else _("write the duration with units, e.g. 12h30m or 90s"),
        )
    if len(stripped) > _MAX_TEXT or not _DURATION.fullmatch(stripped):
        raise QuantityError(
            _("`{text}` is not a duration", text=_short(text)),
            _closest_duration(stripped) or _("write the duration with units, e.g. 90s, 15m, 12h30m or 2d"),
        )
    parts = _DURATION_PART.findall(stripped)
    return _check_int64(sum(int(number) * _DURATIONS[unit] for number, unit in parts), text)


def _of_clock(text: str) -> int:
    """Return the seconds of Slurm's D-HH:MM:SS, D-HH:MM or HH:MM:SS; 0 for other texts, as 12:30 means two things."""
    match = _CLOCK.fullmatch(text)
    if not match or not (match[1] or match[4]):
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * DAY_S + hours * HOUR_S + minutes * MINUTE_S + seconds


def _closest_duration(text: str) -> str:
    """Return the fix for a duration with a word as its unit, with decimals or without a unit; "" for other texts."""
    match = _WORDED.fullmatch(text)
    if not match:
        return ""
    number, unit_text = match[1], match[2].lower()
    if not unit_text:
        return (
            _("write {quantity}", quantity=f"{number}s, {number}m {_('or')} {number}h")
            if "." not in number
            else ""
        )
    unit = next(
        (unit for name, unit in _UNIT_NAMES.items() if unit_text.startswith(name) or unit_text == name[0]), ""
    )
    duration_s = Decimal(number) * _DURATIONS.get(unit, 0)
    is_integer = duration_s and duration_s == int(duration_s) and duration_s <= MAX_INT64
    exact = f"{number}{unit}" if "." not in number else format_duration(int(duration_s))
    return _("write {quantity}", quantity=exact) if is_integer else ""


def format_size(size_bytes: int) -> str:
    """Return bytes as text in the shortest exact form, in a binary or decimal unit: `512GiB`, `1TB`."""
    binary = (("PiB", PiB), ("TiB", TiB), ("GiB", GiB), ("MiB", MiB), ("KiB", KiB))
    decimal = (("PB", PB), ("TB", TB), ("GB", GB), ("MB", MB), ("kB", KB), ("B", 1))
    return _shortest(size_bytes, binary + decimal)


def format_rate(rate_bits_per_s: int) -> str:
    """Return bits per second as text in the shortest exact form: `25Gbit/s`."""
    units = (("Tbit/s", TB), ("Gbit/s", GB), ("Mbit/s", MB), ("kbit/s", KB), ("bit/s", 1))
    return _shortest(rate_bits_per_s, units)


def format_duration(duration_s: int) -> str:
    """Return seconds as text such as `1d12h30m`; `0s` for none."""
    text, remainder = "", duration_s
    for unit, factor in (("d", DAY_S), ("h", HOUR_S), ("m", MINUTE_S), ("s", 1)):
        number, remainder = divmod(remainder, factor)
        text += f"{number}{unit}" if number else ""
    return text or "0s"


def format_slurm_time(duration_s: int) -> str:
    """Return seconds as text in Slurm's form `D-HH:MM:SS`."""
    days, remainder = divmod(duration_s, DAY_S)
    hours, remainder = divmod(remainder, HOUR_S)
    minutes, seconds = divmod(remainder, MINUTE_S)
    return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"


def human_number(value: float) -> str:
    """Return a number as text with three significant figures and no exponent: `0.0042`, `0.4`, `12.5`, `4,109`."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(decimals, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def human_duration(duration_s: float) -> str:
    """Return seconds as text for people, in at most two units: `850 us`, `45 s`, `3 min 20 s`, `2 h 5 min`."""
    size_s = abs(duration_s)
    if size_s < 99.95:
        unit, factor = next(
            (u, f) for u, f in (("s", 1.0), ("ms", 1e3), ("us", 1e6)) if size_s * f >= 1 or u == "us"
        )
        return f"{human_number(duration_s * factor)} {unit}" if size_s else "0 s"
    large, small = next(
        pair for pair in (_DAYS, _HOURS, _MINUTES) if round(size_s / pair[1][1]) >= pair[0][1] // pair[1][1]
    )
    count, remainder = divmod(round(size_s / small[1]), large[1] // small[1])
    sign = "-" if duration_s < 0 else ""
    return f"{sign}{count:,} {large[0]}" + (f" {remainder} {small[0]}" if remainder else "")


def human_size(size_bytes: float) -> str:
    """Return bytes as text in binary units: `512 B`, `1.5 GiB`."""
    return _in_unit(size_bytes, (("PiB", PiB), ("TiB", TiB), ("GiB", GiB), ("MiB", MiB), ("KiB", KiB)), "B")


def human_byte_rate(bytes_per_s: float) -> str:
    """Return bytes per second as text in decimal units: `48.2 GB/s`."""
    return _in_unit(bytes_per_s, (("TB/s", TB), ("GB/s", GB), ("MB/s", MB), ("kB/s", KB)), "B/s")


def human_bit_rate(bits_per_s: float) -> str:
    """Return bits per second as text in decimal units: `400 Gbit/s`."""
    return _in_unit(bits_per_s, (("Tbit/s", TB), ("Gbit/s", GB), ("Mbit/s", MB), ("kbit/s", KB)), "bit/s")


def human_percent(ratio: float) -> str:
    """Return a ratio as text in percent; `0%` and `100%` only if exactly that, else `<1%`, `84%`, `>99%`."""
    if 0 < ratio < 0.01 or 0.99 < ratio < 1:
        return "<1%" if ratio < 0.01 else ">99%"
    return f"{ratio:.0%}"


def _in_unit(value: float, units: tuple[tuple[str, int], ...], smallest: str) -> str:
    unit, factor = next(((unit, factor) for unit, factor in units if abs(value) >= factor), (smallest, 1))
    return f"{human_number(value / factor)} {unit}"


def _shortest(value: int, units: tuple[tuple[str, int], ...]) -> str:
    exact = [f"{value // factor}{unit}" for unit, factor in units if value >= factor and value % factor == 0]
    return min(exact, key=len, default=f"{value}{units[-1][0]}")


def _scaled(text: str, units: dict[str, int], message: str, fix: str) -> int:
    match = _NUMBER_UNIT.fullmatch(text.strip()) if len(text) <= _MAX_TEXT else None
    if match is None or match[3] not in units:
        raise QuantityError(_(message, text=_short(text)), _closest_fix(match, units, fix))
    value = Decimal(match[1]) * units[match[3]]
    if value != value.to_integral_value():
        raise QuantityError(_("`{text}` is a fraction of the smallest unit", text=text), _(fix))
    return _check_int64(int(value), text)


def _closest_fix(match: re.Match[str] | None, units: dict[str, int], fix: str) -> str:
    """Return the fix with the user's number if only the unit is misspelled (`64G`, `64gb`, `400Gbps`), else `fix`.

    A rate whose letters may mean bits and bytes has both.
    """
    if match is None:
        return _(fix)
    if "B" in units:
        letters = match[3].lower()
        prefix = re.match("(kilo|meg|gig|ter|pet)", letters)
        unit = (
            f"{prefix[0][0]}B".upper()
            if prefix
            else _CAPACITY_SLIP.get(letters) or _CAPACITY_SLIP.get(f"{letters}ib")
        )
        return _("write {quantity}", quantity=f"{match[1]}{unit}") if unit else _(fix)
    slip = _RATE_SLIP.fullmatch(match[3])
    if not slip:
        return _(fix)
    bits, byte = f"{match[1]}{slip[1].upper()}bit/s", f"{match[1]}{slip[1].upper()}B/s"
    is_bits = slip[2] in ("b", "bit", "bits") and slip[3]
    return _("write {quantity}", quantity=bits if is_bits else f"{bits} {_('or')} {byte}")


def _check_int64(value: int, text: str) -> int:
    if value > MAX_INT64:
        raise QuantityError(
            _("`{text}` does not fit into 64 bits ({limit})", text=_short(text), limit=MAX_INT64),
            _("write a smaller value"),
        )
    return value


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."
