"""`wright train FILE`, `wright train -- PROGRAM`: submit a job file or a program; options override the file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._connection import (
    LOCAL_RUNS,
    cluster_file,
    connection_to,
    is_unmanaged,
    unmanaged_cluster,
)
from clusterwright.cli._live_names import PARTITIONS, RUNS
from clusterwright.cli._numbers import Count
from clusterwright.cli._quantities import Duration
from clusterwright.cli._show import show_message, show_notes, show_run, show_table
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job
    from clusterwright.launch.resolve import Overrides, ResolvedJob
    from clusterwright.launch.run import RunFolder


def _option(text: str) -> Parameter:
    return Parameter(help=text)


def _flag(text: str) -> Parameter:
    return Parameter(negative="", help=text)


@Parameter(name="*")
@dataclass(frozen=True)
class Typed:
    """Options that override the job file, as typed."""

    nodes: Annotated[Count | None, _option("Number of nodes.")] = None
    gpus: Annotated[Count | None, _option("GPUs (and ranks) per node.")] = None
    partition: Annotated[
        str | None, _option("Slurm partition; default: Slurm's default partition."), PARTITIONS
    ] = None
    time: Annotated[
        Duration | None,
        _option("Time limit, such as 12h; default for a program: 12h or the partition's limit."),
    ] = None
    name: Annotated[
        str | None, _option("Name of the run; default for a program: the name of its script.")
    ] = None
    framework: Annotated[str | None, _option("Framework of the program, such as lightning.")] = None
    launcher: Annotated[
        str | None,
        _option(
            "Launcher: agent, torchrun, static, srun, mpirun, host or batch; see `wright explain launcher`."
        ),
    ] = None
    code: Annotated[
        str | None,
        _option(
            "Folder to copy into the run; default for a program: the current folder; none: copy nothing."
        ),
    ] = None
    array: Annotated[str | None, _option('Indices of a job array, such as "0-9%2".')] = None
    dependency: Annotated[
        str | None, _option("Job ids or runs that must finish successfully first, separated by commas.")
    ] = None

    set: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", help="Any field of the job file by its path, such as recovery.hang=10m; repeatable."
        ),
    ] = ()

    def overrides(self) -> Overrides:
        """Return what the command line's options set, as fields of a job file; options not given are left out."""
        from clusterwright.launch.resolve import Overrides

        values = {
            "nodes": self.nodes,
            "gpus_per_node": self.gpus,
            "partition": self.partition,
            "time": self.time,
            "name": self.name,
            "framework": self.framework,
            "launcher": self.launcher,
            "array": self.array,
            "code": {"folder": self.code} if self.code and self.code != "none" else None,
            "dependencies": self.dependency.split(",") if self.dependency else None,
        }
        fields = {name: value for name, value in values.items() if value is not None}
        return Overrides(fields, self.set, without_code=self.code == "none")


@Parameter(name="*")
@dataclass(frozen=True)
class How:
    """Options of the submission."""

    cluster: Annotated[
        Path | None,
        _option(
            "Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, ./cluster.yaml, or cluster.yaml beside the"
            " job file, else Slurm on this machine."
        ),
    ] = None
    dry_run: Annotated[bool, _flag("Print the sbatch script; submit nothing.")] = False
    show: Annotated[
        bool, _flag("Print the environment variables of the ranks and their sources; submit nothing.")
    ] = False
    local: Annotated[bool, _flag("Run on this machine only, without root, Slurm or a cluster file.")] = False
    hostfile: Annotated[
        Path | None,
        _option(
            "Train on these hosts over SSH, without a scheduler: a hostfile of MPI or DeepSpeed; auto: the hosts of the"
            " allocation of PBS, LSF or another scheduler that the command runs in."
        ),
    ] = None
    out: Annotated[
        Path, _option("With --local or --hostfile: folder of the runs, which all hosts of a hostfile mount.")
    ] = LOCAL_RUNS
    follow: Annotated[
        bool, Parameter(name=("--follow", "-f"), negative="", help="Follow the logs until the run ends.")
    ] = False
    as_user: Annotated[str | None, Parameter(name="--as", help="User of the job, when root submits it.")] = (
        None
    )
    resume: Annotated[str | None, _option("Resume this ended run from its newest checkpoint."), RUNS] = None


NO_OPTIONS, SUBMIT = Typed(), How()


def train(*program: str, job: Typed = NO_OPTIONS, how: How = SUBMIT) -> int:
    """Submit a training job; Clusterwright restarts it after failures until it finishes.

    `wright train job.yaml`, or `wright train --nodes 2 --gpus 8 -- python train.py --lr 1e-3`.

    Exit code with --follow, --local or --hostfile auto: 0 finished, 1 failed, 4 failed at the same step repeatedly,
    143 canceled.

    Parameters
    ----------
    program
        Job file; or, after --, a program and its arguments.
    """
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.load import require_readable
    from clusterwright.launch.access import private_by_default
    from clusterwright.launch.resolve import JOB_SUFFIXES, loaded_cluster, resolve_job
    from clusterwright.launch.run import runs_folder
    from clusterwright.launch.typed_program import require_script

    _something(program, how)
    if how.resume is not None and (code := _resume_without_slurm(how.resume, how)) is not None:
        return code
    if how.hostfile and program:
        return _on_hosts(program, job.overrides(), how)
    if how.local and program:
        return _local(resolve_job(program, job.overrides(), None), how.out.absolute(), dry_run=how.dry_run)
    if program and Path(program[0]).suffix in JOB_SUFFIXES:
        require_readable(Path(program[0]))  # the first error to name, before that of a missing cluster file
    cluster = _cluster(how.cluster, Path(program[0]) if program else None)
    resolved_job = resolve_job(program, job.overrides(), cluster) if program else None
    if resolved_job:
        require_script(resolved_job.job, resolved_job.base_folder)
    if resolved_job and isinstance(cluster, Cluster):
        resolved_job = replace(resolved_job, job=private_by_default(resolved_job.job))
    cluster_config = (
        resolved_job.cluster if resolved_job and resolved_job.cluster else loaded_cluster(cluster)
    )
    if resolved_job and how.show:
        return _show_environment(resolved_job.job, cluster_config)
    if resolved_job and how.dry_run:
        return _dry_run(resolved_job, cluster_config, runs_folder(cluster_config))
    run = _submitted(
        resolved_job if how.resume is None else None, how.resume or "", cluster_config, how.as_user
    )
    from clusterwright.cli._run_output import follow

    run_name = run.runs[0] if run.runs else run.name
    return follow(cluster_config, runs_folder(cluster_config), run_name, live=True) if how.follow else 0


def _resume_without_slurm(run: str, how: How) -> int | None:
    """Resume a run without Slurm and return its exit code; None for a run of Slurm."""
    from clusterwright.cli._without_slurm import folder_without_slurm, resume_run

    requested = how.local or how.hostfile is not None
    folder = folder_without_slurm(run, how.cluster, how.out, is_requested=requested)
    return resume_run(run, folder, how.hostfile, live=how.follow) if folder else None


def _cluster(named: Path | None, job_file: Path | None) -> Path | Cluster:
    """Return the path of the cluster file, or the cluster learned from Slurm."""
    if is_unmanaged(named, job_file):
        return unmanaged_cluster(named)
    return cluster_file(named, job_file, accepts_login=True, otherwise=_("--local runs it on this machine"))


def _dry_run(resolved_job: ResolvedJob, cluster: Cluster | None, runs: str) -> int:
    """Print the batch script that the job would be submitted with, and that also writes job.json; return 0.

    Nothing is submitted. Without a cluster it is the script for this machine.
    """
    from clusterwright.launch.lines.prepare import prepare
    from clusterwright.launch.record import record, with_record
    from clusterwright.launch.run import run_name
    from clusterwright.launch.script import script

    prepared = prepare(resolved_job.job, cluster, resolved_job.base_folder)
    job, now = prepared.job, time.time()
    show_notes(prepared.notes)
    run = f"{runs}/{run_name(job.name, now)}"
    if cluster:
        text = script(job, cluster, run)
    else:
        from clusterwright.launch.local import dry_run_python, local_script, require_supervised

        require_supervised(job)
        text = local_script(job, run, dry_run_python(job))
    sys.stdout.write(with_record(text, run, record(job, cluster, run, now)))
    return 0


def _show_environment(job: Job, cluster: Cluster) -> int:
    """Print every variable of the ranks with its value (secrets hidden) and its source; return 0."""
    from clusterwright.launch.environment import list_variables

    rows = [
        (variable.name, variable.value, variable.source)
        for variable in list_variables(job, cluster, os.environ)
    ]
    show_table(("variable", "value", "source"), rows)
    return 0


def _submitted(
    resolved_job: ResolvedJob | None, resume: str, cluster: Cluster, user: str | None
) -> RunFolder:
    """Submit the job as a new run or, without a job, resubmit the ended run `resume`; print and return the run."""
    from clusterwright.launch.submission import resume as resumed
    from clusterwright.launch.submission import submit

    remote = connection_to(cluster)
    run = (
        submit(resolved_job.job, cluster, remote, user=user, base_folder=resolved_job.base_folder)
        if resolved_job
        else resumed(resume, cluster, remote, user=user)
    )
    show_run(run.runs[0] if run.runs else run.name, run.job_id)
    if run.runs:
        show_message(
            _(
                "array {name}: {count} runs, {first} to {last}",
                name=run.name,
                count=len(run.runs),
                first=run.runs[0],
                last=run.runs[-1],
            )
        )
    show_notes(run.warnings)
    return run


def _something(arguments: tuple[str, ...], how: How) -> None:
    """Raise WrightError if there is neither a job, a program nor a run to resume."""
    from clusterwright.launch.resolve import JOB_SUFFIXES
    from clusterwright.launch.typed_program import require_program

    if arguments and Path(arguments[0]).suffix not in JOB_SUFFIXES:
        require_program(arguments, _typed_options(sys.argv, arguments) or (["--local"] if how.local else []))
        if len(arguments) == 1 or "/" in arguments[0]:
            _require_executable(Path(arguments[0]))
    if how.hostfile:
        from clusterwright.cli._file_kinds import require_file_kind

        require_file_kind(how.hostfile, _("a hostfile"))
    if not arguments and how.resume is None:
        fix = _("run wright train job.yaml, wright train -- python train.py, or wright train --resume RUN")
        raise WrightError.from_code(
            "no-job-file", _("no job file or program is given"), fix, exit_code=EXIT_USAGE
        )


def _typed_options(line: Sequence[str], program: Sequence[str]) -> list[str]:
    """Return the options of a line of `wright train` before its program, as typed; none if the line is another."""
    tokens = list(line)
    if not program or tokens[-len(program) :] != list(program) or "train" not in tokens:
        return []
    options = tokens[tokens.index("train") + 1 : -len(program)]
    return list(takewhile("--".__ne__, options))


def _require_executable(path: Path) -> None:
    """Raise WrightError for a folder, or for a file that cannot be executed and is known to be something else."""
    from clusterwright.cli._file_kinds import require_file_kind

    if path.is_dir() or not os.access(path, os.X_OK):
        require_file_kind(path, _("a job file or a program"))


def _local(resolved_job: ResolvedJob, folder: Path, *, dry_run: bool) -> int:
    """Run the job on this machine, follow the logs until it ends, and return its exit code.

    With `dry_run` only print the script.
    """
    from clusterwright.cli._without_slurm import follow_local
    from clusterwright.launch.local import local
    from clusterwright.launch.typed_program import require_script

    require_script(resolved_job.job, resolved_job.base_folder)
    if dry_run:
        return _dry_run(resolved_job, None, str(folder))
    return follow_local(local(resolved_job.job, folder, base_folder=resolved_job.base_folder), folder)


def _on_hosts(program: tuple[str, ...], overrides: Overrides, how: How) -> int:
    """Run the job on the hosts of a hostfile, without one on those of the allocation; return the exit code.

    With `dry_run` only print the script of each host.
    """
    from clusterwright.cli._without_slurm import follow_hosts
    from clusterwright.launch.hosts.choose import AUTO, hosts_of, resolve_for
    from clusterwright.launch.hosts.start import preview, start_on_hosts

    hosts = hosts_of(how.hostfile or Path(AUTO))
    resolved_job = resolve_for(program, overrides, hosts)
    folder = how.out.absolute()
    if how.dry_run:
        sys.stdout.write(preview(resolved_job.job, hosts, folder, resolved_job.base_folder))
        return 0
    run = start_on_hosts(resolved_job.job, hosts, folder, base_folder=resolved_job.base_folder)
    return follow_hosts(run, folder, how.hostfile, live=how.follow)
