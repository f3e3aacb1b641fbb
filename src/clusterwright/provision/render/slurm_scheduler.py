"""Settings of the backfill scheduler, for a mix of long jobs on many hosts and short jobs."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster

DAY_MIN = 1440
LONGEST_WINDOW_MIN = 43200  # slurm.conf(5): bf_window is at most 30 days
SLOTS = 2880  # time slots of the backfill plan: Slurm's default window (a day) in steps of half a minute


def scheduler(cluster: Cluster) -> str:
    """Return the scheduler's SchedulerParameters; slurm_options merges them with those of other paragraphs."""
    window = window_min(cluster)
    return f"""
# The backfill window covers the longest time limit; otherwise a large job never finds its start time and small ones
# overtake it forever. The resolution is coarser in return. Backfill continues where it was interrupted, and considers
# a thousand jobs.
SchedulerParameters=bf_window={window},bf_resolution={resolution_s(window)},bf_continue,bf_max_job_test=1000
"""


def window_min(cluster: Cluster) -> int:
    """Return the backfill window in minutes: the longest time limit of a partition, from one day to 30 days."""
    longest = max((-(-part.max_time // 60) for part in cluster.partitions.values()), default=0)
    return min(LONGEST_WINDOW_MIN, max(DAY_MIN, longest))


def resolution_s(window: int) -> int:
    """Return the backfill resolution in seconds: 60, or up to 600 for a window (minutes) of more than two days."""
    return max(60, min(600, -(-window * 60 // SLOTS)))
