"""Predicted time and bus bandwidth of collectives, fitted on published nccl-tests."""

from clusterwright.plan.collectives.algorithms import bus_bw_bytes_per_s, seconds
from clusterwright.plan.collectives.kinds import Collective
from clusterwright.plan.collectives.links import domain_size

__all__ = ["Collective", "bus_bw_bytes_per_s", "domain_size", "seconds"]
