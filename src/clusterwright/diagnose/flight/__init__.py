"""Compare dumps of PyTorch's NCCL flight recorder: the last collectives of each rank."""

from clusterwright.diagnose.flight.recorded import recorded

__all__ = ["recorded"]
