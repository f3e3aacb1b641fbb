"""`wright train FILE`, `wright train -- PROGRAM`."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._train_typed import SUBMIT, UNSAID, How, Typed

if TYPE_CHECKING:
    from clusterwright.cli._train_words import Asked
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job
    from clusterwright.launch.run import Run


def train(*words: str, job: Typed = UNSAID, how: How = SUBMIT) -> int:
    """Submit a training, and keep it alive until it is finished.

    `wright train job.yaml`, or `wright train --nodes 2 --gpus 8 -- python train.py --lr 1e-3`.

    Exit code with --follow or --local: 0 finished, 1 failed, 4 failing at the same step again and again, 143 cancelled.

    Parameters
    ----------
    words
        The job file; or, behind --, a program and its arguments.
    """
    from clusterwright.cli import _there
    from clusterwright.cli._train_words import asked
    from clusterwright.config.load import load_cluster
    from clusterwright.launch.run import runs_folder

    _something(words, how.resume)
    if how.local and words:
        return _local(asked(words, job, None), how.folder.absolute(), dry_run=how.dry_run)
    cluster = _there.cluster_file(how.cluster, Path(words[0]) if words else None)
    wish = asked(words, job, cluster) if words else None
    where = wish.cluster if wish and wish.cluster else load_cluster(cluster)
    if wish and how.show:
        return _shown(wish.job, where)
    if wish and how.dry_run:
        return _dry_run(wish.job, where, runs_folder(where))
    run = _submitted(wish if how.resume is None else None, how.resume or "", where, how.as_user)
    what = run.runs[0] if run.runs else run.name
    return _there.follow(where, runs_folder(where), what, live=True) if how.follow else 0


def _dry_run(job: Job, cluster: Cluster | None, runs: str) -> int:
    """The script, which writes job.json itself when somebody submits or starts it by hand."""
    from clusterwright.launch.record import record, with_record
    from clusterwright.launch.run import run_name
    from clusterwright.launch.script import script

    now = time.time()
    run = f"{runs}/{run_name(job.name, now)}"
    if cluster:
        text = script(job, cluster, run)
    else:
        from clusterwright.launch.local import local_script

        text = local_script(job, run)
    sys.stdout.write(with_record(text, run, record(job, cluster, run, now)))
    return 0


def _shown(job: Job, cluster: Cluster) -> int:
    """Every variable, its value as far as that may be shown, and who said it."""
    from clusterwright.cli._show import show_table
    from clusterwright.launch.shown import shown

    rows = [(one.name, one.value, one.source) for one in shown(job, cluster, os.environ)]
    show_table(("VARIABLE", "VALUE", "FROM"), rows)
    return 0


def _submitted(wish: Asked | None, resume: str, cluster: Cluster, user: str | None) -> Run:
    """A new run of the job; without a job, the run of that name once more."""
    from clusterwright.cli._show import say
    from clusterwright.cli._there import way_to
    from clusterwright.launch.submit import resume as resumed
    from clusterwright.launch.submit import submit

    remote = way_to(cluster)
    run = (
        submit(wish.job, cluster, remote, user=user, beside=wish.beside)
        if wish
        else resumed(resume, cluster, remote, user=user)
    )
    _tell(run.runs[0] if run.runs else run.name, run.job_id)
    if run.runs:
        say(f"array {run.name}: {len(run.runs)} runs, {run.runs[0]} to {run.runs[-1]}")
    for warned in run.warnings:
        say(str(warned))
    return run


def _something(words: tuple[str, ...], resume: str | None) -> None:
    """There is something to train."""
    from clusterwright.errors import EXIT_USAGE, WrightError

    if not words and resume is None:
        mend = "wright train job.yaml, wright train -- python train.py, or --resume RUN"
        raise WrightError.of("no-job-file", "no job file is named", mend, exit_code=EXIT_USAGE)


def _local(wish: Asked, folder: Path, *, dry_run: bool) -> int:
    """Always followed: an interrupt asks the ranks to save, and ends the run; a second one ends the following."""
    from clusterwright.cli._there import follow
    from clusterwright.launch.local import interrupt, local

    if dry_run:
        return _dry_run(wish.job, None, str(folder))
    run = local(wish.job, folder, beside=wish.beside)
    _tell(run.name, run.job_id)

    def on_interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupt(run)

    signal.signal(signal.SIGINT, on_interrupt)
    code = follow(None, str(folder), run.name, live=True, deaf=True)
    _draw(folder / run.name)
    return code


def _draw(run: Path) -> None:
    """The run's curves, as a page in its folder; a run without a readable event has none."""
    from clusterwright.cli import _curves
    from clusterwright.cli._show import say
    from clusterwright.errors import WrightError

    try:
        say(f"curves: {_curves.write(_curves.points(str(run), None), run / 'curves.html')}")
    except (OSError, WrightError) as why:
        say(f"no curves: {why}")


def _tell(name: str, job_id: str) -> None:
    from clusterwright.cli._show import say

    say(f"run {name}, job {job_id}")
    say(f"next: wright logs -f {name}   wright jobs   wright cancel {name}")
