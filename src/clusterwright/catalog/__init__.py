"""Data files with sources: GPUs, NICs, switches, models, software matrix, prices."""

from __future__ import annotations

from clusterwright.catalog.gpus import gpu, gpus
from clusterwright.catalog.models import architecture, architectures, resembling
from clusterwright.catalog.user_catalog import UserCatalog
from clusterwright.catalog.user_catalog_file import load_user_catalog

__all__ = ["UserCatalog", "architecture", "architectures", "gpu", "gpus", "load_user_catalog", "resembling"]
