"""Gradient reductions that a job file can select instead of DistributedDataParallel's own."""
