"""What the launcher says of gradients, through CLUSTERWRIGHT_GRADIENT_*; every word of it may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COMPRESS = ("none", "bf16", "fp16", "int8", "power")
PREFIX = "CLUSTERWRIGHT_GRADIENT_"
BUCKET, COMPRESSION = f"{PREFIX}BUCKET_MIB", f"{PREFIX}COMPRESS"
RANK, WARM_UP, HIERARCHICAL = f"{PREFIX}RANK", f"{PREFIX}WARM_UP", f"{PREFIX}HIERARCHICAL"


@dataclass(frozen=True)
class GradientSettings:
    """Fields of `gradients` in the job file. `rank` and `warm_up` (steps) are PowerSGD's."""

    bucket_mib: float | None = None
    compress: str = "none"
    rank: int = 4
    warm_up: int = 100
    hierarchical: bool = False


def read(environ: Mapping[str, str]) -> GradientSettings:
    """What is said.

    Raises:
        ValueError: it cannot be done.
    """
    size = environ.get(BUCKET)
    settings = GradientSettings(
        float(size) if size else None,
        environ.get(COMPRESSION) or "none",
        int(environ.get(RANK, GradientSettings.rank)),
        int(environ.get(WARM_UP, GradientSettings.warm_up)),
        environ.get(HIERARCHICAL) == "1",
    )
    if settings.compress not in COMPRESS:
        raise ValueError(f"gradients: compress {settings.compress}: it is {', '.join(COMPRESS)}")
    if settings.rank < 1 or settings.warm_up < 1:
        raise ValueError(
            f"gradients: rank {settings.rank}, warm_up {settings.warm_up}: PowerSGD needs at least 1 of both"
        )
    if settings.compress in ("int8", "power") and settings.hierarchical:
        raise ValueError(
            f"gradients: compress: {settings.compress} has no sum inside each host; take one out"
        )
    return settings
