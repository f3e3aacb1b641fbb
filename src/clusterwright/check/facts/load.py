"""The load average."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Load:
    """The 15-minute load average, and the number of hardware threads."""

    quarter_hour: float
    threads: int


@fact("sh", "-c", "cat /proc/loadavg && getconf _NPROCESSORS_ONLN")
def load(out: str) -> Load:
    """The kernel's 15-minute load average, and the number of online hardware threads."""
    averages, threads = out.splitlines()
    return Load(float(averages.split()[2]), int(threads))
