"""What ibping (infiniband-diags, 1.5 to rdma-core 5x) prints at its end; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_COUNTS = re.compile(r"(\d+) packets transmitted, (\d+) received, (\d+)% packet loss, time (\d+) ?ms")
_TIMES = re.compile(r"rtt min/avg/max = ([\d.]+)/([\d.]+)/([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class Ibping:
    """Packets, and the round trip's seconds; the times are None where nothing came back."""

    packets_sent: int
    received: int
    least_s: float | None
    average_s: float | None
    most_s: float | None


def ibping(out: str) -> Ibping:
    """The statistics of a run.

    Raises:
        ValueError: there are none; with its last words.
    """
    counts, times = _COUNTS.search(out), _TIMES.search(out)
    if counts is None:
        raise ValueError(" ".join(out.strip().splitlines()[-2:]) or "(nothing)")
    packets_sent, received = int(counts[1]), int(counts[2])
    if times is None or not received:
        return Ibping(packets_sent, received, None, None, None)
    least, average, most = (float(value) / 1e3 for value in times.groups())
    return Ibping(packets_sent, received, least, average, most)
