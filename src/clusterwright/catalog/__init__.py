"""Facts as data: GPUs, NICs, switches, models, software matrix, prices, each row with its source."""

from __future__ import annotations

from clusterwright.catalog.gpus import gpu, gpus
from clusterwright.catalog.models import architecture, architectures, resembling
from clusterwright.catalog.user_catalog import UserCatalog

__all__ = ["UserCatalog", "architecture", "architectures", "gpu", "gpus", "resembling"]
