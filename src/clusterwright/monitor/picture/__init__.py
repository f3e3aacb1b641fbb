"""What a cluster looks like at one moment; pure."""

from clusterwright.monitor.picture.lacks import lacks
from clusterwright.monitor.picture.picture import Alert, Gpu, Job, Node, Picture, Run, Team
from clusterwright.monitor.picture.waits import waits

__all__ = ["Alert", "Gpu", "Job", "Node", "Picture", "Run", "Team", "lacks", "waits"]
