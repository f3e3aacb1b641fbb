"""The health of NVMe disks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document

_COMMAND = (
    "for disk in /dev/nvme[0-9] /dev/nvme[0-9][0-9]; do"
    ' [ -e $disk ] && echo "@ $disk" && nvme smart-log -o json $disk; done; echo @ END'
)
_KELVIN = 273


@dataclass(frozen=True, slots=True)
class Nvme:
    """SMART log of one disk: critical warning bits, spare and used percent, media errors."""

    warning: int
    spare_percent: int
    spare_least_percent: int
    used_percent: int
    media_errors: int
    temperature_c: int


@fact("sh", "-c", _COMMAND, limit_s=20, permission="root")
def nvme(out: str) -> dict[str, Nvme]:
    """SMART log by device, from `nvme smart-log`; the fact is missing without nvme-cli."""
    begin, *blocks = out.split("@ ")
    if begin.strip() or not blocks or blocks[-1].strip() != "END":
        raise ValueError(out)
    return {
        name: _disk(parse_document(text))
        for name, _, text in (block.partition("\n") for block in blocks[:-1])
    }


def _disk(smart_log: dict[str, Any]) -> Nvme:
    warning = smart_log["critical_warning"]
    return Nvme(
        warning=int(
            warning["value"] if isinstance(warning, dict) else warning
        ),  # nvme-cli 2 prints an object
        spare_percent=int(smart_log["avail_spare"]),
        spare_least_percent=int(smart_log["spare_thresh"]),
        used_percent=int(
            smart_log["percent_used"] if "percent_used" in smart_log else smart_log["percentage_used"]
        ),
        media_errors=int(smart_log["media_errors"]),
        temperature_c=int(smart_log["temperature"]) - _KELVIN,
    )
