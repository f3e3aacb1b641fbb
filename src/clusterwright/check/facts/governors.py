"""Frequency governors of the CPUs."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact(
    "sh", "-c", "cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor 2>/dev/null | sort | uniq -c"
)
def governors(out: str) -> dict[str, int]:
    """Number of CPUs by frequency governor; empty where the hypervisor or firmware sets the clocks."""
    rows = [line.split() for line in out.splitlines()]
    return {name: int(count) for count, name in rows}
