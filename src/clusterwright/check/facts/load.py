"""How much the processors have to do."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Load:
    """The load of the last 15 minutes, and how many hardware threads there are for it."""

    quarter_hour: float
    threads: int


@fact("sh", "-c", "cat /proc/loadavg && getconf _NPROCESSORS_ONLN")
def load(out: str) -> Load:
    """Processes that run or wait for a disk, by the kernel's own mean."""
    averages, threads = out.splitlines()
    return Load(float(averages.split()[2]), int(threads))
