"""What the ranks are told of how their gradients are added up, or that they meet each so many steps only."""

from __future__ import annotations

import json

from clusterwright.config.job import Job
from clusterwright.units import MiB

_PREFIX = "CLUSTERWRIGHT_GRADIENT_"


def variables(job: Job) -> dict[str, str]:
    """Only what differs from torch's own ways."""
    said, found = job.gradients, {}
    if said.bucket:
        found[f"{_PREFIX}BUCKET_MIB"] = f"{said.bucket / MiB:g}"
    if said.compress != "none":
        found[f"{_PREFIX}COMPRESS"] = said.compress
    if said.compress == "power":
        found |= {f"{_PREFIX}RANK": str(said.rank), f"{_PREFIX}WARM_UP": str(said.warm_up)}
    if said.hierarchical:
        found[f"{_PREFIX}HIERARCHICAL"] = "1"
    if job.outer:
        found["CLUSTERWRIGHT_OUTER"] = json.dumps(job.outer.model_dump(mode="json"))
    return found
