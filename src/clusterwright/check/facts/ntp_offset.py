"""Clock offset from the control host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class Offset:
    """Seconds ahead of the control host's clock, and the round-trip time of the measurement."""

    offset_s: float
    round_trip_s: float


def _arguments(spec: HostSpec) -> Sequence[str]:
    return (str(spec.cluster.control.management),)


@fact(_arguments, probe="sntp")
def ntp_offset(out: str) -> Offset | None:
    """Clock offset by NTP exchanges with the control host's chronyd; None if it does not answer."""
    document = parse_document(out)
    return None if document is None else Offset(float(document["offset_s"]), float(document["round_trip_s"]))
