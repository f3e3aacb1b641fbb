"""The backfill scheduler, for long jobs over many hosts beside short ones."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster

DAY_MIN = 1440
LONGEST_WINDOW_MIN = 43200  # slurm.conf(5): bf_window is at most 30 days
SLOTS = 2880  # of the plan: as many as Slurm's own default of a day has halves of minutes


def scheduler(cluster: Cluster) -> str:
    """Return the values of SchedulerParameters, which share a line with other sources."""
    window = window_min(cluster)
    return f"""
# The backfill window covers the longest time limit; otherwise a large job never finds its start time and small ones
# overtake it forever. The resolution is coarser in return. Backfill continues where it was interrupted, and considers
# a thousand jobs.
SchedulerParameters=bf_window={window},bf_resolution={resolution_s(window)},bf_continue,bf_max_job_test=1000
"""


def window_min(cluster: Cluster) -> int:
    """Return the longest partition time limit, in minutes."""
    longest = max((-(-part.max_time // 60) for part in cluster.partitions.values()), default=0)
    return min(LONGEST_WINDOW_MIN, max(DAY_MIN, longest))


def resolution_s(window: int) -> int:
    """Return the backfill resolution in seconds: 60, or more if the window exceeds two days, to limit the slots."""
    return max(60, min(600, -(-window * 60 // SLOTS)))
