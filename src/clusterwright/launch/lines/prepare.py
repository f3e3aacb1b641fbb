"""Prepare a job for its submission: the launch line of a program is fitted to the allocation."""

from __future__ import annotations

from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.lines.note import Prepared


def prepare(job: Job, cluster: Cluster | None, base_folder: Path = Path()) -> Prepared:
    """Return the job with its launch line rewritten to its allocation; without a cluster it runs on this machine.

    A prepared job stays as it is.

    Raises:
        WrightError: `launch-line`: the line contradicts the allocation and cannot be rewritten; `no-pyxis`.
    """
    if job.recipe:  # a program of ours, without a launch line
        return Prepared(job)
    from clusterwright.launch.lines.fit import fit

    return fit(job, cluster, base_folder)
