"""What a cluster looks like at one moment; pure."""

from clusterwright.monitor.picture.lacks import lacks
from clusterwright.monitor.picture.picture import Alert, Gpu, JobView, NodeView, Picture, Run, Team
from clusterwright.monitor.picture.waits import waits

__all__ = ["Alert", "Gpu", "JobView", "NodeView", "Picture", "Run", "Team", "lacks", "waits"]
