"""Slurm's records: fields by name, with parsers for numbers, times, durations and resources."""

import calendar
import re
from typing import Dict, Iterator, List, Mapping, Optional, Tuple

# Users can add fields to the records of their jobs, by a name or a comment. `int` refuses some texts that `\d` and
# `isdigit` accept, and texts of many digits: a number is 1 to 19 ASCII digits, those of a 64-bit integer.
_NUMBER = re.compile(r"[0-9]{1,19}(?![0-9])")
_STAMP = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})")
_LENGTH = re.compile(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})")
_SIZE = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,19})?)(?![0-9.])([KMGTP]?)")
_UNITS = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}  # in MiB
_FIELD = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_:/]*)=")
NOTHING = frozenset({"", "(null)", "N/A", "n/a", "None", "NONE", "none", "(none)", "Unknown", "UNLIMITED"})
# GPUs in `gpu:a100:4`, `gres/gpu:h100:4`, `gres/gpu=2`; in `gres/gpu=8,gres/gpu:a100=8` the first is the total.
_GRES_GPU = re.compile(r"\bgpu(?::(?!\d+(?:,|$))([^:,=]+))?[:=]([0-9]{1,9})(?![0-9])")
_TRES_GPU = re.compile(r"gres/gpu=([0-9]{1,9})(?![0-9])")


class Record(Mapping[str, str]):
    """The fields of one object of Slurm by name; a missing or empty field reads as ""."""

    def __init__(self, fields: Mapping[str, str], line: str = "") -> None:
        self._fields, self.line = dict(fields), line

    @classmethod
    def parse(cls, line: str) -> "Record":
        """Parse a line of `scontrol -o`: a value extends to the next NAME=; text before the first NAME= is dropped."""
        return cls(parse_fields(line), line.strip())

    def __getitem__(self, name: str) -> str:
        """Return the value of a field; "" if the record lacks it, or where Slurm prints `(null)`, `N/A` or the like."""
        value = self._fields.get(name, "")
        return "" if value in NOTHING else value

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of fields."""
        return iter(self._fields)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(self._fields)

    def number(self, name: str) -> int:
        """Return the number at the beginning of a field, or 0."""
        match = _NUMBER.match(self[name])
        return int(match.group()) if match else 0

    def split(self, name: str) -> Tuple[str, ...]:
        """Return the items of a comma-separated field; an empty tuple if the field is empty or missing."""
        return tuple(item for item in self[name].split(",") if item)

    def tres(self, name: str) -> Dict[str, float]:
        """Return the trackable resources (TRES) in a field such as AllocTRES: memory in MiB, all others as numbers."""
        pairs = (item.partition("=") for item in self[name].split(",") if "=" in item)
        return {key: amount(value) for key, _, value in pairs}

    def quoted(self, *names: str) -> str:
        """Return the fields as Slurm printed them: `NAME=VALUE NAME=VALUE`."""
        return " ".join(f"{name}={self._fields[name]}" for name in names if name in self._fields)


def parse_fields(line: str) -> Dict[str, str]:
    """Return the fields of one line of `scontrol -o` by name: a value extends to the next NAME=."""
    matches = list(_FIELD.finditer(line))
    ends = [match.start() for match in matches[1:]] + [len(line)]
    return {match.group(1): line[match.end() : end].strip() for match, end in zip(matches, ends)}


def split_lines(text: str) -> List[str]:
    """Return the lines of a Slurm program's output. Only a line feed ends one.

    Names and comments of users can contain the other characters at which `str.splitlines` splits.
    """
    return [line for line in text.split("\n") if line]


def parse_records(text: str, first_field: str) -> List[Record]:
    """Return the records of the lines that start with the field `first_field`; other lines are skipped."""
    return [Record.parse(line) for line in split_lines(text) if line.startswith(f"{first_field}=")]


def count_gpus(gres: str, tres: str = "") -> int:
    """Return the GPUs in a GRES text, `gpu:a100:4(S:0-1),gpu:h100:2`, else in a TRES text, `cpu=4,gres/gpu=8`.

    0 if none. A total in TRES counts before its types.
    """
    types = _GRES_GPU.findall(re.sub(r"\([^)]*\)", "", gres))
    if types:
        return sum(int(count) for _, count in types)
    match = _TRES_GPU.search(tres)
    return int(match.group(1)) if match else sum(int(count) for _, count in _GRES_GPU.findall(tres))


def gpu_type(gres: str) -> str:
    """Return `a100` for `gpu:a100:4`; "" if GPUs have no type."""
    match = _GRES_GPU.search(re.sub(r"\([^)]*\)", "", gres))
    return match.group(1) or "" if match else ""


def number(text: str) -> Optional[int]:
    """Return the integer of 1 to 19 ASCII digits; None for any other text."""
    return int(text) if _NUMBER.fullmatch(text) else None


def amount(text: str) -> float:
    """Parse a size in MiB: `928M` is 928, `15.50G` 15872, `8` 8; 0 without a number."""
    match = _SIZE.match(text)
    return float(match.group(1)) * _UNITS[match.group(2)] if match else 0.0


def seconds(text: str) -> Optional[int]:
    """Convert Slurm's durations, `1-00:30:00` or minutes as `30`, to seconds; None for no limit or an invalid text."""
    match = _LENGTH.fullmatch(text)
    if not match:
        minutes_only = number(text)
        return None if minutes_only is None else minutes_only * 60
    days, hours, minutes, secs = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + secs


def limit_seconds(text: str) -> Optional[int]:
    """Convert a time limit of Slurm, also D-HH and D-HH:MM, to seconds; None for no limit or an invalid text."""
    days, _dash, tail = text.partition("-")
    if tail and ":" not in tail:
        tail += ":00:00"
    elif tail.count(":") == 1:
        tail += ":00"
    return seconds(f"{days}-{tail}" if tail else text)


def length(of_s: int) -> str:
    """Format seconds as Slurm prints a duration: `01:30:00`, `1-00:30:00`."""
    minutes, secs = divmod(of_s, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{secs:02}" if days else f"{hours:02}:{minutes:02}:{secs:02}"


def stamp(text: str) -> Optional[int]:
    """Parse Slurm's local time into seconds, as if it were UTC: only differences mean anything; None for no time."""
    match = _STAMP.match(text)
    if not match or match.group(1) == "0000":
        return None
    return calendar.timegm(tuple(int(part) for part in match.groups()))


def clock(text: str) -> str:
    """Format Slurm's time `2026-11-22T23:06:00` as `2026-11-22 23:06`, for people."""
    return text[:16].replace("T", " ")
