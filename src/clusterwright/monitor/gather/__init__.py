"""Take a snapshot: a program on the control host queries everything at once, and its output is parsed here."""

from clusterwright.monitor.gather.cache import EVERY_S, SnapshotCache
from clusterwright.monitor.gather.gather import gather
from clusterwright.monitor.gather.reading import ClusterFacts, build_snapshot

__all__ = ["EVERY_S", "ClusterFacts", "SnapshotCache", "build_snapshot", "gather"]
