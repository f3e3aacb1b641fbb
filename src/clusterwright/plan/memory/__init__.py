"""Predicted peak GPU memory of a training."""

from __future__ import annotations

from clusterwright.plan.memory.peak import (
    Definition,
    MemoryFit,
    classify_fit,
    peak,
    peak_bytes,
    reported,
    stages,
)
from clusterwright.plan.memory.remedies import Remedy, ladder

__all__ = [
    "Definition",
    "MemoryFit",
    "Remedy",
    "classify_fit",
    "ladder",
    "peak",
    "peak_bytes",
    "reported",
    "stages",
]
