"""`nvidia-smi`: the table of GPUs, fields that the driver cannot read, and uncorrectable memory errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clusterwright.diagnose.outputs.value import Finding, Normal, Row
from clusterwright.i18n import _n

KEYWORDS = (b"nvidia-smi ",)
_HEAD = re.compile(r"\| *NVIDIA-SMI +(?P<version>\d+[\d.]*) ")
# | 0  NVIDIA A100-SXM4-80GB   On  | 00000000:07:00.0 Off |    0 |   the last column: uncorrectable errors since boot
_GPU = re.compile(
    r"^\| +(?P<gpu>\d+) +(?P<model>\S.*?) +(?:On|Off|N/A|ERR!)? *\| *(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+) +\S+ *"
    r"\| *(?P<errors>\S+) *\|"
)
_UNREADABLE = "ERR!"


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Judge each GPU of the table by its two lines; without a fault, count them."""
    head = next((row for row in rows if _HEAD.search(row.text)), None)
    if head is None:
        return
    count = 0
    has_fault = False
    for index, row in enumerate(rows):
        if match := _GPU.search(row.text):
            count += 1
            second = rows[index + 1].text if index + 1 < len(rows) else ""
            for finding in _faults(row, second, match):
                has_fault = True
                yield finding
    if count and not has_fault:
        text = _n(
            "nvidia-smi shows {count} GPU without a fault: normal.",
            "nvidia-smi shows {count} GPUs without a fault: normal.",
            count,
        )
        yield Normal(head, text)


def _faults(row: Row, second: str, match: re.Match[str]) -> Iterator[Finding]:
    name = f"GPU {match['gpu']} at {match['bus']}"
    if _UNREADABLE in row.text or (second.startswith("|") and _UNREADABLE in second):
        yield Finding(row, f"nvidia-smi: unreadable values of {name}")
    if match["errors"].isdigit() and int(match["errors"]):
        yield Finding(row, f"nvidia-smi: {match['errors']} uncorrectable errors of {name}")
