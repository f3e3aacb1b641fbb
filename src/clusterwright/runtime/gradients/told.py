"""What the launcher says of gradients, through CLUSTERWRIGHT_GRADIENT_*; every word of it may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COMPRESS = ("none", "bf16", "fp16", "int8", "power")
PREFIX = "CLUSTERWRIGHT_GRADIENT_"
BUCKET, COMPRESSION = f"{PREFIX}BUCKET_MIB", f"{PREFIX}COMPRESS"
RANK, WARM_UP, HIERARCHICAL = f"{PREFIX}RANK", f"{PREFIX}WARM_UP", f"{PREFIX}HIERARCHICAL"


@dataclass(frozen=True)
class Told:
    """Fields of `gradients` in the job file. `rank` and `warm_up` (steps) are PowerSGD's."""

    bucket_mib: float | None = None
    compress: str = "none"
    rank: int = 4
    warm_up: int = 100
    hierarchical: bool = False


def read(environ: Mapping[str, str]) -> Told:
    """What is said.

    Raises:
        ValueError: it cannot be done.
    """
    size = environ.get(BUCKET)
    told = Told(
        float(size) if size else None,
        environ.get(COMPRESSION) or "none",
        int(environ.get(RANK, Told.rank)),
        int(environ.get(WARM_UP, Told.warm_up)),
        environ.get(HIERARCHICAL) == "1",
    )
    if told.compress not in COMPRESS:
        raise ValueError(f"gradients: compress {told.compress}: it is {', '.join(COMPRESS)}")
    if told.rank < 1 or told.warm_up < 1:
        raise ValueError(
            f"gradients: rank {told.rank}, warm_up {told.warm_up}: PowerSGD needs at least 1 of both"
        )
    if told.compress in ("int8", "power") and told.hierarchical:
        raise ValueError(f"gradients: compress: {told.compress} has no sum inside each host; take one out")
    return told
