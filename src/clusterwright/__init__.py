"""Clusterwright makes, proves, runs and fixes GPU training clusters."""

__version__ = "0.1.0"
