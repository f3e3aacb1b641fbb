"""What a cluster looks like at one moment; pure."""

from clusterwright.watch.picture.lacks import lacks
from clusterwright.watch.picture.picture import Alert, Gpu, Job, Node, Picture, Run, Team
from clusterwright.watch.picture.waits import waits

__all__ = ["Alert", "Gpu", "Job", "Node", "Picture", "Run", "Team", "lacks", "waits"]
