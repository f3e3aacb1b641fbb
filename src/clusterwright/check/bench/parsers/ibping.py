"""Parse the summary of ibping (infiniband-diags, 1.5 to rdma-core 5x); pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_COUNTS = re.compile(r"(\d+) packets transmitted, (\d+) received, (\d+)% packet loss, time (\d+) ?ms")
_TIMES = re.compile(r"rtt min/avg/max = ([\d.]+)/([\d.]+)/([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class Ibping:
    """Packet counts and round-trip times in seconds; the times are None if no packet came back."""

    packets_sent: int
    received: int
    least_s: float | None
    average_s: float | None
    most_s: float | None


def ibping(out: str) -> Ibping:
    """Parse the statistics that a run of ibping prints.

    Raises:
        ValueError: There are none; has the last lines of output.
    """
    counts, times = _COUNTS.search(out), _TIMES.search(out)
    if counts is None:
        raise ValueError(" ".join(out.strip().splitlines()[-2:]) or "(nothing)")
    packets_sent, received = int(counts[1]), int(counts[2])
    if times is None or not received:
        return Ibping(packets_sent, received, None, None, None)
    least, average, most = (float(value) / 1e3 for value in times.groups())
    return Ibping(packets_sent, received, least, average, most)
