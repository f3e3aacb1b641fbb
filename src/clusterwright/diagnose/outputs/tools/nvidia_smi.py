"""`nvidia-smi`: the table of GPUs, fields that the driver cannot read, and uncorrectable memory errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clusterwright.diagnose.outputs.value import Finding, Normal, Row
from clusterwright.i18n import _n

_HEAD = re.compile(r"\| *NVIDIA-SMI +(?P<version>\d+[\d.]*) ")
# | 0  NVIDIA A100-SXM4-80GB   On  | 00000000:07:00.0 Off |    0 |   the last column: uncorrectable errors since boot
_INDEX = re.compile(r" +(?P<gpu>\d+) +\S")
_BUS = re.compile(r" *(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+) +\S+ *")
_CELLS = 4  # GPU, bus, errors, and the empty text after the last |
_UNREADABLE = "ERR!"


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield a finding for each GPU with unreadable values or uncorrectable errors in the table of nvidia-smi.

    Without a fault, one normal value with the number of GPUs.
    """
    head = next((row for row in rows if _HEAD.search(row.text)), None)
    if head is None:
        return
    count = 0
    has_fault = False
    for index, row in enumerate(rows):
        if gpu := _gpu(row.text):
            count += 1
            second = rows[index + 1].text if index + 1 < len(rows) else ""
            for finding in _faults(row, second, *gpu):
                has_fault = True
                yield finding
    if count and not has_fault:
        text = _n(
            "nvidia-smi shows {count} GPU without a fault: normal.",
            "nvidia-smi shows {count} GPUs without a fault: normal.",
            count,
        )
        yield Normal(head, text)


def _gpu(text: str) -> tuple[str, str] | None:
    """Return the name of the GPU of a line and its uncorrectable errors; None if it is no first line of a GPU."""
    prefix, *cells = text.split("|")
    if prefix or len(cells) < _CELLS:
        return None
    index, bus, errors = _INDEX.match(cells[0]), _BUS.fullmatch(cells[1]), cells[2].split()
    if index is None or bus is None or len(errors) != 1:
        return None
    return f"GPU {index['gpu']} at {bus['bus']}", errors[0]


def _faults(row: Row, second: str, name: str, errors: str) -> Iterator[Finding]:
    if _UNREADABLE in row.text or (second.startswith("|") and _UNREADABLE in second):
        yield Finding(row, f"nvidia-smi: unreadable values of {name}")
    if errors.isdecimal() and int(errors):
        yield Finding(row, f"nvidia-smi: {errors} uncorrectable errors of {name}")
