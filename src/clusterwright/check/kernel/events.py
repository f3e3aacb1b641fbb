"""Xids of a kernel log, grouped by GPU and burst; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from clusterwright.check.kernel.lines import MINUTE_S, KernelLine, pci

BURST_S = 3 * MINUTE_S  # NVSentinel merges what comes within 3 minutes; 1120: 800,000 lines of 29 faults
XID_OFF_BUS = 79  # a GPU that is off the bus when the driver starts logs no Xid at all (NVSentinel 155)

# Matched from the first character of a message: the kernel also logs texts that users choose, such as the name of a
# control group in a message of the OOM killer.
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)(?:, (.*))?")
_SXID = re.compile(r"[\w-]+: SXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+), (.*)")
_NAMED = re.compile(
    r"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})"
)
# Not anywhere behind `NVRM: `: the driver logs the version that a program claims to have, 64 characters of any text.
# Nor behind the name of a process, such as `NVRM: GPU` (15 characters of any text), and that of its file.
_OFF = re.compile(
    r"NVRM: (?:[Aa] GPU has |GPU (?:(?:at )?(?:PCI:)?[0-9a-fA-F:.]+ )?(?:GPU )?has |The NVIDIA GPU .*)?"
    r"fallen off the bus"
)
_FIXED = re.compile(
    r"clusterwright:? repaired (\S+)|NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): 154, .* to 0x0 \(None\)"
)
_MAX_MESSAGES = 8  # distinct messages stored per burst: NVLink's register dumps differ in each line


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One burst of an Xid of a GPU, or (`switch`) of an SXid of an NVSwitch; `messages` are its distinct messages."""

    number: int
    pci: str
    first_s: float
    last_s: float
    lines: int
    messages: tuple[str, ...]
    switch: bool = False


def events(lines: Iterable[KernelLine]) -> tuple[KernelEvent, ...]:
    """Return every burst by start time, without those of devices that were repaired afterwards.

    A repair is the line `clusterwright repaired PCI_ADDRESS` (of onhost/lib/journal.py, which only root can write), or
    the driver's Xid 154 with recovery action None.
    """
    open_: dict[tuple[int, str, bool], KernelEvent] = {}
    closed: list[KernelEvent] = []
    for key, time_s, message in _parse_lines(lines):
        if key[0] == 0:
            closed = [event for event in closed if event.pci != key[1]]
            open_ = {open_key: event for open_key, event in open_.items() if event.pci != key[1]}
            continue
        previous = open_.get(key)
        if previous and time_s - previous.last_s <= BURST_S:
            more = (
                (message,)
                if message not in previous.messages and len(previous.messages) < _MAX_MESSAGES
                else ()
            )
            open_[key] = replace(
                previous, last_s=time_s, lines=previous.lines + 1, messages=previous.messages + more
            )
        else:
            closed += [previous] if previous else []
            open_[key] = KernelEvent(key[0], key[1], time_s, time_s, 1, (message,), key[2])
    return tuple(sorted([*closed, *open_.values()], key=lambda event: event.first_s))


def _parse_lines(lines: Iterable[KernelLine]) -> Iterator[tuple[tuple[int, str, bool], float, str]]:
    """Yield ((number, PCI address, is NVSwitch), time, message) of each Xid, SXid, fall off the bus and repair.

    The number of a repair is 0, that of a GPU off the bus XID_OFF_BUS; other lines yield nothing.
    """
    named = ""
    for line in lines:
        if "NVRM:" not in line.text and "Xid (" not in line.text and "clusterwright" not in line.text:
            continue  # a fast path for most lines
        if gpu := _NAMED.match(line.text):
            named = pci(gpu[1])
        if match := _FIXED.match(line.text):
            yield (0, pci(match[1] or match[2]), False), line.time_s, ""
        elif match := _XID.match(line.text):
            yield (int(match[2]), pci(match[1]), False), line.time_s, (match[3] or "").strip()
        elif match := _SXID.match(line.text):
            yield (int(match[2]), pci(match[1]), True), line.time_s, match[3].strip()
        elif _OFF.match(line.text):
            yield (XID_OFF_BUS, named, False), line.time_s, "fallen off the bus"
