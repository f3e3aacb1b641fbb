"""Runs that a job makes several of."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from clusterwright.config.job import Job
from clusterwright.config.rules._clash import Clash

MOST = 1001  # slurm.conf(5): MaxArraySize, without a value of its own


def array(job: Job) -> Iterator[Clash]:
    """They are told by numbers or by values, not by both, and are no more than Slurm's array takes."""
    if job.array and job.sweep:
        yield Clash(
            "array-and-sweep",
            "the job has an array and a sweep, which is an array, too",
            "keep one of them",
            (("array",), ("sweep",)),
        )
    runs = prod(len(values) for values in job.sweep.values())
    if runs >= MOST:
        yield Clash(
            "array-too-large",
            f"the sweep makes {runs} runs, and an array of Slurm's takes {MOST - 1}",
            "take fewer values, or submit it in parts",
            (("sweep",),),
        )
    if (job.array or job.sweep) and job.checkpoint.folder:
        yield Clash(
            "array-one-folder",
            f"all runs would keep their checkpoints in {job.checkpoint.folder}",
            "leave checkpoint.folder out: each run has a folder of its own",
            (("checkpoint", "folder"), ("array",) if job.array else ("sweep",)),
        )
