"""Storage of a cluster: capacity, bandwidth, file systems and RAID levels."""

from clusterwright.plan.storage.demand import Demand, Workload, checkpoint_bytes, demand
from clusterwright.plan.storage.objects import object_options
from clusterwright.plan.storage.options import Option, Staging, options, staging
from clusterwright.plan.storage.raid import Array, Disk, array, best_level

__all__ = [
    "Array",
    "Demand",
    "Disk",
    "Option",
    "Staging",
    "Workload",
    "array",
    "best_level",
    "checkpoint_bytes",
    "demand",
    "object_options",
    "options",
    "staging",
]
