"""List the jobs in Slurm's queue and recently ended runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.edge import slurm
from clusterwright.edge.answers import evaluating
from clusterwright.edge.bundler import LOADER, RUNS, program_command, program_input
from clusterwright.edge.host import Host
from clusterwright.edge.processes import run
from clusterwright.edge.ssh import Remote
from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _, _n
from clusterwright.launch.local import is_alive
from clusterwright.launch.run import runs_folder
from clusterwright.onhost.lib.run_outcome import EXIT_CODES
from clusterwright.onhost.lib.safe_names import random_mark
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, confined, parse_document
from clusterwright.onhost.runs.run_jobs import list_runs
from clusterwright.provision.apply import remote_of
from clusterwright.slurm import client
from clusterwright.slurm.jobs import Job, parse_queue

NAMES_S = 20.0  # for the names of runs, after an error


@dataclass(frozen=True, slots=True)
class JobRow:
    """A row of the list: a Slurm job, or a run that has ended."""

    job_id: str
    run: str
    user: str
    state: str
    elapsed: str
    step: int | None
    checkpoint: int | None
    hosts: str
    reason: str


def list_jobs(cluster: Cluster, remote: Remote | None = None) -> tuple[JobRow, ...]:
    """Return the pending and running jobs of a cluster, then the runs that ended last; asked with one ssh.

    Raises:
        WrightError: the control host or slurmctld does not answer.
    """
    host, runs, separator = cluster.control.name, runs_folder(cluster), random_mark()
    squeue = client.line(client.queue(slurm.NAMED_FIELDS, separator))
    command = f"{squeue} </dev/null || exit; echo; {program_command('list', runs)}"
    result = slurm.checked(
        Host(remote or remote_of(cluster), host).run(command, stdin=program_input(RUNS)), host, "squeue"
    )
    queue, _separator, folders = result.out.rpartition("\n")
    with evaluating(result, host):
        return rows(parse_queue(queue, slurm.NAMED_FIELDS, separator), parse_document(folders or "[]"))


def list_local_runs(runs: Path) -> tuple[JobRow, ...]:
    """Return the runs of `wright train --local` in this folder: running ones, then those that ended last."""
    folders = list_runs(str(runs))
    running = [
        folder for folder in folders if folder["state"] not in EXIT_CODES and is_alive(runs / folder["run"])
    ]
    alive = tuple(replace(_run(folder), state="RUNNING", reason="") for folder in running)
    return (*alive, *(_run(folder) for folder in folders if folder not in running))


def run_names(cluster: Cluster | None, runs: str, remote: Remote | None = None) -> list[str]:
    """Return the names of the runs in a folder, newest first; empty if it cannot be read.

    The folder is on the control host or, without a cluster, on this machine.
    """
    if cluster:
        control = Host(remote or remote_of(cluster), cluster.control.name)
        result = control.run(program_command("names", runs), stdin=program_input(RUNS), timeout_s=NAMES_S)
    else:
        result = run(run_jobs_argv(None, "names", runs), stdin=program_input(RUNS), timeout_s=NAMES_S)
    try:
        return [str(name) for name in parse_document(result.out)] if result.ok else []
    except DATA_ERRORS:
        return []


def no_run(reference: str, cluster: Cluster | None, runs: str, remote: Remote | None = None) -> WrightError:
    """Return the error of a run that does not exist, with the closest name of those that do."""
    default_fix = (
        _("choose a run that wright jobs lists")
        if cluster
        else _("choose a run that wright jobs lists; for a run of a cluster, pass --cluster cluster.yaml")
    )
    names = run_names(cluster, runs, remote)
    if not names and not cluster:
        default_fix = _("no run is there; for a run of a cluster, pass --cluster cluster.yaml")
    fix = unknown_name_fix(reference, names, default_fix)
    message = _("no run `{run}` in {folder}", run=reference, folder=runs)
    return WrightError.from_code("no-run", message, fix, exit_code=EXIT_USAGE)


def run_jobs_argv(cluster: Cluster | None, command: str, runs: str, *more: str) -> tuple[str, ...]:
    """Return the command line that starts run_jobs.py where the runs are stored: on this machine without a cluster."""
    if cluster is None:
        return confined(sys.executable, "-I", "-c", LOADER, command, runs, *more)
    return remote_of(cluster).argv(cluster.control.name, program_command(command, runs, *more))


def rows(queue: Iterable[Job], folders: Iterable[Mapping[str, Any]]) -> tuple[JobRow, ...]:
    """Return one row for each pending or running job in the queue, then one for each run folder without such a job."""
    about = {str(folder["run"]): folder for folder in folders}
    alive = [_job(job, about.get(job.name, {})) for job in queue if not job.is_finished]
    queued_runs = {row.run for row in alive}
    return (*alive, *(_run(folder) for name, folder in about.items() if name not in queued_runs))


def _job(job: Job, folder: Mapping[str, Any]) -> JobRow:
    # A pending successor job shows its reason, not the progress of the running job of the same run.
    step, saved = (None, None) if job.is_pending else (folder.get("step"), folder.get("checkpoint"))
    is_successor = job.reason == "Dependency" and folder
    reason = _("successor job: starts if the run's job fails") if is_successor else job.reason
    hosts = job.hosts or _n("{count} host", "{count} hosts", job.nodes)
    return JobRow(job.id, job.name, job.user, job.state, job.elapsed, step, saved, hosts, reason)


def _run(folder: Mapping[str, Any]) -> JobRow:
    ids = folder.get("jobs") or ["-"]
    state, reason = str(folder.get("state")), str(folder.get("reason", ""))
    step, saved = folder.get("step"), folder.get("checkpoint")
    return JobRow(str(ids[-1]), str(folder["run"]), "", state, "", step, saved, "", reason)
