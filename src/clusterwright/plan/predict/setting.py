"""Context of a row from which its layout is inferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture, Gpu
    from clusterwright.plan.run import Stack


@dataclass(frozen=True, slots=True)
class Setting:
    """The model, the machine and the software of a row, and the settings named in its notes."""

    model: Architecture
    parameters: float
    gpu: Gpu
    node: int
    gpus: int
    stack: Stack
    settings: dict[str, str]
