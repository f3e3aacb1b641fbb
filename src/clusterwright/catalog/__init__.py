"""Facts as data: GPUs, NICs, switches, models, software matrix, prices, each row with its source."""

from __future__ import annotations

from clusterwright.catalog.gpus import gpu, gpus
from clusterwright.catalog.models import architecture, architectures, resembling
from clusterwright.catalog.own import Own

__all__ = ["Own", "architecture", "architectures", "gpu", "gpus", "resembling"]
