"""Settings of the gradient reduction that the launcher passes in CLUSTERWRIGHT_GRADIENT_* variables, all optional."""

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
    """Return the settings of gradient reduction from environment variables; unset ones have their defaults.

    Raises:
        ValueError: a value is invalid, or two settings exclude each other.
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
        raise ValueError(f"gradients: compress: {settings.compress}: must be one of {', '.join(COMPRESS)}")
    if settings.rank < 1 or settings.warm_up < 1:
        raise ValueError(
            f"gradients: rank: {settings.rank}, warm_up: {settings.warm_up}: both must be at least 1"
        )
    if settings.compress in ("int8", "power") and settings.hierarchical:
        raise ValueError(
            f"gradients: compress: {settings.compress} excludes hierarchical: true; fix: remove one of the two"
        )
    return settings
