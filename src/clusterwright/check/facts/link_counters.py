"""Growth of the error counters of the host's links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class GrownCounter:
    """Growth by link (`mlx5_0/1`, `eth0`) and counter in `seconds`; 0 for a counter that was reset."""

    seconds: float
    links: Mapping[str, Mapping[str, int]]


@fact(probe="link_counters")
def link_counters(out: str) -> GrownCounter:
    """Growth of each link counter since the previous reading, or in two seconds without one."""
    document = parse_document(out)
    previous, now = document["before"], document["now"]
    grown = {
        link: {
            name: max(0, value - previous["links"][link][name])
            for name, value in counters.items()
            if name in previous["links"].get(link, {})
        }
        for link, counters in now["links"].items()
    }
    return GrownCounter(float(now["at"]) - float(previous["at"]), grown)
