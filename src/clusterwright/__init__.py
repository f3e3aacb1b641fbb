"""Clusterwright makes, proves, runs and mends GPU training clusters."""

__version__ = "0.1.0"
