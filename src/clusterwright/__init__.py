"""Clusterwright plans, builds, verifies, runs and repairs GPU training clusters."""

__version__ = "0.1.0"
