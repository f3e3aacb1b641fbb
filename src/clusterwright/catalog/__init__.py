"""Data files with sources: GPUs, NICs, switches, models, software matrix, prices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.catalog.gpus import gpu, gpus
from clusterwright.catalog.models import architecture, architectures, resembling
from clusterwright.catalog.user_catalog import UserCatalog

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog_file import load_user_catalog

__all__ = [
    "UserCatalog",
    "architecture",
    "architectures",
    "gpu",
    "gpus",
    "load_user_catalog",
    "resembling",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and reports other names

    def __getattr__(name: str) -> object:
        if name != "load_user_catalog":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from clusterwright.catalog.user_catalog_file import load_user_catalog

        return load_user_catalog
