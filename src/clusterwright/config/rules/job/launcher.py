"""What a job's launcher can do."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.job import PLAIN, Job
from clusterwright.config.rules._clash import Clash

TASKS = ("tensorflow", "jax", "mpi")  # they read Slurm's variables, or are told all hosts


def launcher(job: Job) -> Iterator[Clash]:
    """Spares, fewer hosts and images go with a launcher that looks after its ranks; MPI and its like with tasks."""
    if job.launcher not in PLAIN:
        yield from _tasks(job)
        return
    for wants, at, what in (
        (job.recovery.on_host_loss in ("spare", "shrink"), ("recovery", "on_host_loss"), "goes on after a lost host"),
        (job.container is not None, ("container",), "starts agents in an image"),
        (bool(job.warm.imports), ("warm", "imports"), "holds modules imported"),
    ):  # fmt: skip
        if wants:
            yield Clash(
                "launcher-cannot",
                f"the job {what}, and launcher `{job.launcher}` does not",
                "take `launcher: agent`, or take the other out",
                (("launcher",), at),
            )


def _tasks(job: Job) -> Iterator[Clash]:
    """Where the job says nothing, these are started by srun."""
    if job.framework in TASKS and "launcher" in job.model_fields_set:
        yield Clash(
            "launcher-cannot",
            f"each process of {job.framework} is a task of Slurm's or MPI's, and launcher `{job.launcher}` starts none",
            "take `launcher: srun`, or leave it out",
            (("launcher",), ("framework",)),
        )
