"""The observed state of the whole cluster at one moment; pure."""

from clusterwright.monitor.snapshot.lacks import lacks
from clusterwright.monitor.snapshot.snapshot import Alert, Gpu, JobView, NodeView, Run, Snapshot, Team
from clusterwright.monitor.snapshot.waits import waits

__all__ = ["Alert", "Gpu", "JobView", "NodeView", "Run", "Snapshot", "Team", "lacks", "waits"]
