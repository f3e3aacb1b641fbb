"""Count and expand hostlists with Slurm's meaning, both from the same ranges: `a1[9-10]` is a19 and a110.

ClusterShell reads the digits beside a bracket as part of its numbers, which makes 92 hosts of that text, and many
millions of a longer one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from math import prod

MAX_HOSTS = 65536  # Slurm's own MAX_SLURM_NODES is 64 * 1024
MAX_NAME = 253  # characters of a host name: DNS has no longer ones

_PART = r"(?:[^][,&!^\s]|\[[0-9,-]+\])+"  # without ClusterShell's operators
_FACTOR = r"\[([0-9,-]+)\]|([^][]+)"
_RANGE = r"([0-9]{1,9})(?:-([0-9]{1,9}))?"
_NUMBER = re.compile("([0-9]+)")

Numbers = tuple[range, int]  # with the number of digits to which they are padded
Factor = str | list[Numbers]  # text, or the ranges of a bracket


class HostlistError(ValueError):
    """The text is no hostlist, or has more hosts than Slurm supports."""


def count_hosts(hostlist: str) -> int | None:
    """Count the hosts, doubled ones included, without expanding them (`n[1-999999999]`); None if it is malformed."""
    parts = _parts(hostlist)
    return None if parts is None else sum(map(_size, parts))


def ascending_ranges(hostlist: str) -> str:
    """Return a hostlist with each descending range, such as that of `n[8-1]`, turned around."""
    return re.sub(
        r"(?<=[\[,])([0-9]{1,9})-([0-9]{1,9})(?=[\],])",
        lambda match: f"{match[2]}-{match[1]}" if int(match[2]) < int(match[1]) else match[0],
        hostlist,
    )


def host_names(hostlist: str) -> tuple[str, ...]:
    """Expand a hostlist into host names, each once, sorted by name and number.

    Raises:
        HostlistError: the text is no hostlist, or has more than MAX_HOSTS hosts.
    """
    parts = _parts(hostlist)
    if parts is None or sum(map(_size, parts)) > MAX_HOSTS:
        raise HostlistError(hostlist[:60])
    names = {"".join(name) for part in parts for name in product(*map(_texts, part))}
    return tuple(sorted(names, key=_by_number))


def _parts(hostlist: str) -> list[list[Factor]] | None:
    """Split a hostlist into its parts, and each into texts and ranges; None if one is malformed or too long."""
    trimmed = ",".join(text.strip() for text in hostlist.split(","))
    texts = re.findall(_PART, trimmed)
    if ",".join(texts) != trimmed:
        return None
    parts = [
        [_ranges(match[1]) if match[1] else match[2] for match in re.finditer(_FACTOR, text)]
        for text in texts
    ]
    return parts if all(all(part) and _length(part) <= MAX_NAME for part in parts) else None


def _ranges(text: str) -> list[Numbers]:
    """Return the ranges of `1-8,012` with their numbers of digits; empty if one is malformed or descending."""
    ranges: list[Numbers] = []
    for item in text.split(","):
        match = re.fullmatch(_RANGE, item)
        if match is None:
            return []
        first, last = match[1], match[2] or match[1]
        if int(last) < int(first) or len(last) < len(first) or (last[0] == "0" and len(last) > len(first)):
            return []
        ranges.append((range(int(first), int(last) + 1), len(first)))
    return ranges


def _size(part: Sequence[Factor]) -> int:
    """Count the hosts of one comma-separated part of a hostlist."""
    return prod(
        sum(len(numbers) for numbers, _width in factor) for factor in part if not isinstance(factor, str)
    )


def _length(part: Sequence[Factor]) -> int:
    """Return the length of a hostlist's part, counting ten characters for each list of ranges."""
    return sum(len(factor) if isinstance(factor, str) else 10 for factor in part)


def _texts(factor: Factor) -> Sequence[str]:
    """Return the texts that a factor of a hostlist stands for: itself, or its numbers with their leading zeros."""
    if isinstance(factor, str):
        return (factor,)
    return [str(number).zfill(width) for numbers, width in factor for number in numbers]


def _by_number(name: str) -> tuple[list[str], list[int], str]:
    texts = _NUMBER.split(name)
    return texts[::2], list(map(int, texts[1::2])), name
