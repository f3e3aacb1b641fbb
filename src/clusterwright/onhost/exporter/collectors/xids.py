"""Counters of XIDs in the kernel log, each event counted once across restarts of the exporter."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from clusterwright.onhost.exporter import kernel_log, state_files
from clusterwright.onhost.exporter.gpu_places import address, places
from clusterwright.onhost.exporter.settings import ExporterSettings
from clusterwright.onhost.exporter.text import Family, counter, gauge

EVERY_S, TIMEOUT_S, STAYS = 5.0, 30.0, True
NAME = "xids"  # name of the state file
OFF_THE_BUS = 79
BURST_S = 180.0  # seconds; as in `wright check`, repeats within three minutes are the same event
MOST = 2000  # rows; each GPU has a few
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)")
_SXID = re.compile(r"[\w-]+: SXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+), ")
# A process, whose name may begin a line, has one of at most 15 characters.
_OFF_BUS = re.compile(
    r"NVRM: GPU (?:at )?(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[0-9.:]* (?:GPU )?has "
    r"fallen off the bus"
)
# A GPU that is lost when the driver starts: one message of three lines.
_LOST_GPU, _MORE_LINES = "NVRM: The NVIDIA GPU ", ("NVRM: (PCI ID", "NVRM: fallen off the bus")
_LOST = re.compile(
    r"NVRM: The NVIDIA GPU ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[0-9.]* .*fallen off the bus"
)


def is_enabled(settings: ExporterSettings) -> bool:
    """Return True if the cluster file declares GPUs for this host."""
    return settings.gpus > 0


def collect(settings: ExporterSettings, state: Dict[Any, Any]) -> Iterator[Family]:
    """Yield count and last time of each XID (NVIDIA driver error) in the kernel log, by GPU.

    The time is needed because increase() ignores a counter's first sample. The counts are kept in a state file.
    """
    document = state.setdefault("document", state_files.read(settings.state, NAME))
    position, rows = document.setdefault("place", {}), document.setdefault("rows", {})
    lines = kernel_log.read_new_lines(position)
    for when, text in _joined(lines):
        _count(when, text, rows)
    if lines:
        state_files.write(settings.state, NAME, document)
    yield from _families(rows, settings.proc)


def _joined(lines: Iterable[Tuple[float, str]]) -> Iterator[Tuple[float, str]]:
    """Yield the lines; those of a message about a lost GPU with the lines of it that come before."""
    start = ""
    for when, line in lines:
        text = line
        if line.startswith(_LOST_GPU):
            start = line
        elif start and line.startswith(_MORE_LINES):
            start = text = f"{start} {line[len('NVRM: ') :]}"
        else:
            start = ""
        yield when, text


def _count(when: float, text: str, rows: Dict[str, List[float]]) -> None:
    """Count the XID of a kernel log line by `PCI XID` in `rows`, with the time of the newest.

    Not counted: a line without an XID, one that repeats another at most BURST_S before, a new XID beyond MOST.
    """
    event = read(text)
    if event is None:
        return
    pci, xid, is_repeat = event
    key = f"{pci} {xid}"
    row = rows.get(key)
    if (is_repeat and row and when - row[1] <= BURST_S) or (row is None and len(rows) >= MOST):
        return
    count, last = row or [0.0, when]
    rows[key] = [count + 1, max(last, when)]


def read(text: str) -> Optional[Tuple[str, str, bool]]:
    """Return PCI address and XID of a kernel log line, and True if it may repeat another line; None for any other.

    The XID of an NVSwitch is `sxid-NUMBER`.
    """
    if match := _XID.match(text):
        return address(match[1]), match[2], False
    if match := _SXID.match(text):
        return address(match[1]), f"sxid-{match[2]}", False
    if match := _OFF_BUS.match(text) or _LOST.match(text):
        return address(match[1]), str(OFF_THE_BUS), True
    return None


def _families(rows: Dict[str, List[float]], proc: str) -> Iterator[Family]:
    numbers = {device.pci: str(device.number) for device in places(proc)}
    total = counter("gpu_xid_total", "XID events of the kernel log, each counted once.")
    last = gauge("gpu_xid_timestamp_seconds", "Time of the XID's last event.")
    for key, (count, when) in sorted(rows.items()):
        pci, _, xid = key.partition(" ")
        total.add(count, gpu=numbers.get(pci, pci), xid=xid)
        last.add(when, gpu=numbers.get(pci, pci), xid=xid)
    yield from (total, last)
