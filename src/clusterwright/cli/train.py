"""`wright train FILE`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from clusterwright.spec.cluster import Cluster
    from clusterwright.spec.job import Job
    from clusterwright.train.launch import Run

Flag = Annotated[bool, Parameter(negative="")]


def train(  # noqa: PLR0913 (each option of the command line is one)
    file: Path | None = None,
    /,
    *,
    cluster: Path | None = None,
    dry_run: Flag = False,
    local: Flag = False,
    folder: Path = Path("runs"),
    follow: Annotated[bool, Parameter(name=("--follow", "-f"), negative="")] = False,
    as_user: Annotated[str | None, Parameter(name="--as")] = None,
    resume: str | None = None,
) -> int:
    """Submit a training, and keep it alive until it is finished.

    Exit code with --follow or --local: 0 finished, 1 failed, 4 failing at the same step again and again, 143 cancelled.

    Parameters
    ----------
    file
        The job file.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER, ./cluster.yaml, or the one beside the job file.
    dry_run
        Print the sbatch script, and do nothing.
    local
        Run on this machine alone: without root, Slurm or a cluster file.
    folder
        With --local: where runs are kept.
    follow
        Show the logs until the run has ended.
    as_user
        Who runs it, when root submits it.
    resume
        A run that ended: goes on from its newest checkpoint.
    """
    from clusterwright.cli import _there  # noqa: PLC0415 (start-up time)
    from clusterwright.spec.load import load_both, load_cluster, load_job  # noqa: PLC0415
    from clusterwright.train import launch  # noqa: PLC0415

    _something(file, resume)
    if local and file:
        return _local(load_job(file), folder.absolute(), dry_run=dry_run)
    cluster = _there.cluster_file(cluster, file)
    job, where = load_both(file, cluster) if file else (None, load_cluster(cluster))
    if dry_run and job:
        run_folder = f"{launch.runs_folder(where)}/{launch.run_name(job.name, time.time())}"
        sys.stdout.write(launch.script(job, where, run_folder))
        return 0
    run = _submitted(job if resume is None else None, resume or "", where, as_user)
    return _there.follow(where, launch.runs_folder(where), run.name, live=True) if follow else 0


def _submitted(job: Job | None, resume: str, cluster: Cluster, user: str | None) -> Run:
    """A new run of the job; without a job, the run of that name once more."""
    from clusterwright.cli._there import way_to  # noqa: PLC0415 (start-up time)
    from clusterwright.train import launch  # noqa: PLC0415

    remote = way_to(cluster)
    run = (
        launch.submit(job, cluster, remote, user=user)
        if job
        else launch.resume(resume, cluster, remote, user=user)
    )
    _tell(run.name, run.job_id)
    return run


def _something(file: Path | None, resume: str | None) -> None:
    """There is something to train."""
    from clusterwright.errors import EXIT_USAGE, WrightError  # noqa: PLC0415 (start-up time)

    if file is None and resume is None:
        mend = "wright train job.yaml, or --resume RUN"
        raise WrightError.of("no-job-file", "no job file is named", mend, exit_code=EXIT_USAGE)


def _local(job: Job, folder: Path, *, dry_run: bool) -> int:
    """Always followed: an interrupt asks the ranks to save, and ends the run."""
    from clusterwright.cli._there import follow  # noqa: PLC0415 (start-up time)
    from clusterwright.train.launch import local, local_script, run_name  # noqa: PLC0415

    if dry_run:
        sys.stdout.write(local_script(job, str(folder / run_name(job.name, time.time()))))
        return 0
    run = local(job, folder)
    _tell(run.name, run.job_id)
    try:
        return follow(None, str(folder), run.name, live=True)
    except KeyboardInterrupt:
        (Path(run.folder) / "cancelled").touch()
        return follow(None, str(folder), run.name, live=True)


def _tell(name: str, job_id: str) -> None:
    from clusterwright.cli._show import say  # noqa: PLC0415 (start-up time)

    say(f"run {name}, job {job_id}")
    say(f"next: wright logs -f {name}   wright jobs   wright cancel {name}")
