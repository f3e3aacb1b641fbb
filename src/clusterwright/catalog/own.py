"""Rows of the user's own, which win over ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterwright.catalog.gpu import Gpu
from clusterwright.catalog.model import Architecture


@dataclass(frozen=True, slots=True)
class Own:
    """What a user's catalog file adds, by name."""

    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    models: Mapping[str, Architecture] = field(default_factory=dict)
