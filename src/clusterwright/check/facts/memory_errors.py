"""ECC errors of the host's memory."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_COMMAND = "cd /sys/devices/system/edac/mc 2>/dev/null && grep -s . mc*/ue_count mc*/ce_count; echo END"


@dataclass(frozen=True, slots=True)
class MemoryErrors:
    """Uncorrected and corrected errors since boot by memory controller; empty without an EDAC driver."""

    uncorrected: dict[str, int]
    corrected: dict[str, int]


@fact("sh", "-c", _COMMAND)
def memory_errors(out: str) -> MemoryErrors:
    """Error counts of the kernel's EDAC driver; empty in virtual machines and where only the firmware sees errors."""
    *lines, last = out.splitlines()
    if last != "END":
        raise ValueError(last)
    counts = {path: int(count) for path, _, count in (line.partition(":") for line in lines)}
    by_kind = {
        kind: {path.partition("/")[0]: count for path, count in counts.items() if path.endswith(kind)}
        for kind in ("ue_count", "ce_count")
    }
    return MemoryErrors(by_kind["ue_count"], by_kind["ce_count"])
