"""The observed state of the whole cluster at one moment; pure."""

from clusterwright.monitor.snapshot.lacks import lacks
from clusterwright.monitor.snapshot.snapshot import (
    Alert,
    GpuSnapshot,
    JobView,
    NodeView,
    RunSnapshot,
    Snapshot,
    Team,
)
from clusterwright.monitor.snapshot.waits import waits

__all__ = ["Alert", "GpuSnapshot", "JobView", "NodeView", "RunSnapshot", "Snapshot", "Team", "lacks", "waits"]
