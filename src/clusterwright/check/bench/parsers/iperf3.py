"""Parse what `pair.py` prints of one direction: iperf3's JSON without its intervals, or our own stream's count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.i18n import _


@dataclass(frozen=True, slots=True)
class Iperf3Stream:
    """One direction, as counted by the receiving end, and the addresses of its connections."""

    bytes_per_s: float
    tool: str
    ends: tuple[tuple[str, str], ...]
    retransmits: int | None = None


def stream(report: Mapping[str, Any]) -> Iperf3Stream:
    """Parse one direction; reads iperf3 3.1 (2016) and later.

    Raises:
        ValueError: The stream failed; has the tool's message.
    """
    if report.get("error"):
        raise ValueError(str(report["error"]))
    ends = tuple(
        (connection["local_host"], connection["remote_host"]) for connection in report.get("connected", [])
    )
    if report["tool"] == "tcp":
        return Iperf3Stream(report["bytes"] / report["seconds"], "tcp", ends)
    end = report.get("end", {})
    # up to 3.6 a run in one direction has no other sums; with --bidir of later ones they are not the ones needed here
    total = end.get("sum_received") or end.get("sum") or {}
    if "bits_per_second" not in total:
        raise ValueError(_("iperf3 printed no sum: {end}", end=sorted(end)))
    retransmits = end.get("sum_sent", {}).get("retransmits")
    return Iperf3Stream(total["bits_per_second"] / 8, "iperf3", ends, retransmits)
