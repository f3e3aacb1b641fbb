"""Xids in a kernel log, told apart by GPU and put together by burst; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from clusterwright.check.kernel.lines import MINUTE_S, Line, pci

BURST_S = 3 * MINUTE_S  # NVSentinel merges what comes within 3 minutes; 1120: 800,000 lines of 29 faults
LOST = 79  # a GPU that is off the bus when the driver starts logs no Xid at all (NVSentinel 155)

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)(?:, (.*))?")
_SXID = re.compile(r"SXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+), (.*)")
_NAMED = re.compile(
    r"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})"
)
_OFF = re.compile(r"NVRM: .*fallen off the bus")
_MENDED = re.compile(
    r"clusterwright:? mended (\S+)|Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): 154, .* to 0x0 \(None\)"
)
_SAID_MOST = 8  # different words kept of one burst: NVLink's registers differ from line to line


@dataclass(frozen=True, slots=True)
class Event:
    """One burst of one Xid of one GPU, or (`switch`) of an SXid of an NVSwitch; `said` are its different words."""

    number: int
    pci: str
    first_s: float
    last_s: float
    lines: int
    said: tuple[str, ...]
    switch: bool = False


def events(lines: Iterable[Line]) -> tuple[Event, ...]:
    """Every burst, in the order in which they began; what was mended since then is left out.

    What ends all that was logged of a device before: `clusterwright mended PCI_ADDRESS`, which is what the probe
    makes of `logger -t clusterwright mended PCI_ADDRESS`, and the driver's own word (Xid 154) that it has recovered.
    """
    open_: dict[tuple[int, str, bool], Event] = {}
    closed: list[Event] = []
    for key, time_s, said in _found(lines):
        if key[0] == 0:
            closed = [each for each in closed if each.pci != key[1]]
            open_ = {other: each for other, each in open_.items() if each.pci != key[1]}
            continue
        before = open_.get(key)
        if before and time_s - before.last_s <= BURST_S:
            more = (said,) if said not in before.said and len(before.said) < _SAID_MOST else ()
            open_[key] = replace(before, last_s=time_s, lines=before.lines + 1, said=before.said + more)
        else:
            closed += [before] if before else []
            open_[key] = Event(key[0], key[1], time_s, time_s, 1, (said,), key[2])
    return tuple(sorted([*closed, *open_.values()], key=lambda each: each.first_s))


def _found(lines: Iterable[Line]) -> Iterator[tuple[tuple[int, str, bool], float, str]]:
    """(number, device, is it a switch), time and words of each telling line; number 0 says that it was mended."""
    named = ""
    for line in lines:
        if "NVRM:" not in line.text and "Xid (" not in line.text and "clusterwright" not in line.text:
            continue  # most lines: these are quick to look for
        if gpu := _NAMED.search(line.text):
            named = pci(gpu[1])
        if found := _MENDED.search(line.text):
            yield (0, pci(found[1] or found[2]), False), line.time_s, ""
        elif found := _XID.search(line.text):
            yield (int(found[2]), pci(found[1]), False), line.time_s, (found[3] or "").strip()
        elif found := _SXID.search(line.text):
            yield (int(found[2]), pci(found[1]), True), line.time_s, found[3].strip()
        elif _OFF.search(line.text):
            yield (LOST, named, False), line.time_s, "fallen off the bus"
