"""What the counters of the host's links have grown by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Grown:
    """By link (`mlx5_0/1`, `eth0`) and counter: by how much in `seconds`; one that was set back has not grown."""

    seconds: float
    links: Mapping[str, Mapping[str, int]]


@fact(probe="link_counters")
def link_counters(out: str) -> Grown:
    """How much each counter has grown since the reading before, or in two seconds where there was none."""
    document = json.loads(out)
    previous, now = document["before"], document["now"]
    grown = {
        link: {
            name: max(0, value - previous["links"][link][name])
            for name, value in counters.items()
            if name in previous["links"].get(link, {})
        }
        for link, counters in now["links"].items()
    }
    return Grown(float(now["at"]) - float(previous["at"]), grown)
