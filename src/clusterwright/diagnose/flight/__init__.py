"""What NCCL's flight recorder kept of the last collectives of each rank, and what all dumps say together."""

from clusterwright.diagnose.flight.recorded import recorded

__all__ = ["recorded"]
