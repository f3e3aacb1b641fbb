"""Data files with sources: GPUs, NICs, switches, models, software matrix, prices."""

from __future__ import annotations

from clusterwright.catalog.gpus import gpu, gpus
from clusterwright.catalog.models import architecture, architectures, resembling
from clusterwright.catalog.user_catalog import UserCatalog

__all__ = ["UserCatalog", "architecture", "architectures", "gpu", "gpus", "resembling"]
