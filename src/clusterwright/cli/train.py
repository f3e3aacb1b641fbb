"""`wright train FILE`, `wright train -- PROGRAM`: the job of a file or of a command line; what is typed comes first."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clusterwright.cli._connection import cluster_file, connection_to, follow
from clusterwright.cli._show import show_message, show_table
from clusterwright.errors import EXIT_USAGE, SpecError, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.config.job import Job
    from clusterwright.launch.run import Run

USUAL_TIME_S = 12 * 3600


def _option(text: str) -> Parameter:
    return Parameter(help=text)


def _flag(text: str) -> Parameter:
    return Parameter(negative="", help=text)


@Parameter(name="*")
@dataclass(frozen=True)
class Typed:
    """The options as they were typed; what is left out is the job file's, or as a job file's default."""

    nodes: Annotated[int | None, _option("Hosts.")] = None
    gpus: Annotated[int | None, _option("GPUs, and so processes, on each host.")] = None
    partition: Annotated[str | None, _option("Slurm partition; the default one if left out.")] = None
    time: Annotated[
        str | None, _option("Time limit, e.g. 12h; of a program, 12h or what the partition gives.")
    ] = None
    name: Annotated[str | None, _option("Name of the run; of a program, its script's.")] = None
    framework: Annotated[str | None, _option("What the program is written with, e.g. lightning.")] = None
    launcher: Annotated[
        str | None,
        _option("agent, torchrun, static, srun, mpirun, host or batch; see `wright explain launcher`."),
    ] = None
    code: Annotated[
        str | None,
        _option("Folder that is copied into the run; of a program, where one is; none: nothing is."),
    ] = None
    array: Annotated[str | None, _option('Runs by number, e.g. "0-9%2".')] = None
    dependency: Annotated[
        str | None, _option("Job ids or runs that must have finished well, separated by commas.")
    ] = None

    set: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", help="Any field of the job file by its path, e.g. recovery.hang=10m; repeatable."
        ),
    ] = ()

    def fields(self) -> dict[str, Any]:
        """Those that were said, as a job file says them."""
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
        return {name: value for name, value in values.items() if value is not None}


@Parameter(name="*")
@dataclass(frozen=True)
class How:
    """What is to be done with the job."""

    cluster: Annotated[
        Path | None,
        _option(
            "The cluster file; else $CLUSTERWRIGHT_CLUSTER, ./cluster.yaml, or the one beside the job file."
        ),
    ] = None
    dry_run: Annotated[bool, _flag("Print the sbatch script, and do nothing.")] = False
    show: Annotated[
        bool, _flag("Print what the ranks will find in their environment, and from whom, and do nothing.")
    ] = False
    local: Annotated[bool, _flag("Run on this machine alone: without root, Slurm or a cluster file.")] = False
    folder: Annotated[Path, _option("With --local: where runs are kept.")] = Path("runs")
    follow: Annotated[
        bool, Parameter(name=("--follow", "-f"), negative="", help="Show the logs until the run has ended.")
    ] = False
    as_user: Annotated[str | None, Parameter(name="--as", help="Who runs it, when root submits it.")] = None
    resume: Annotated[str | None, _option("A run that ended: goes on from its newest checkpoint.")] = None


UNSAID, SUBMIT = Typed(), How()


def train(*program: str, job: Typed = UNSAID, how: How = SUBMIT) -> int:
    """Submit a training, and keep it alive until it is finished.

    `wright train job.yaml`, or `wright train --nodes 2 --gpus 8 -- python train.py --lr 1e-3`.

    Exit code with --follow or --local: 0 finished, 1 failed, 4 failing at the same step again and again, 143 cancelled.

    Parameters
    ----------
    program
        The job file; or, behind --, a program and its arguments.
    """
    from clusterwright.config.load import load_cluster
    from clusterwright.launch.run import runs_folder

    _something(program, how.resume)
    if how.local and program:
        return _local(resolve_job(program, job, None), how.folder.absolute(), dry_run=how.dry_run)
    cluster = cluster_file(how.cluster, Path(program[0]) if program else None)
    resolved_job = resolve_job(program, job, cluster) if program else None
    cluster_config = resolved_job.cluster if resolved_job and resolved_job.cluster else load_cluster(cluster)
    if resolved_job and how.show:
        return _show_environment(resolved_job.job, cluster_config)
    if resolved_job and how.dry_run:
        return _dry_run(resolved_job.job, cluster_config, runs_folder(cluster_config))
    run = _submitted(
        resolved_job if how.resume is None else None, how.resume or "", cluster_config, how.as_user
    )
    run_name = run.runs[0] if run.runs else run.name
    return follow(cluster_config, runs_folder(cluster_config), run_name, live=True) if how.follow else 0


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


def _show_environment(job: Job, cluster: Cluster) -> int:
    """Every variable, its value as far as that may be shown, and who said it."""
    from clusterwright.launch.environment import list_variables

    rows = [
        (variable.name, variable.value, variable.source)
        for variable in list_variables(job, cluster, os.environ)
    ]
    show_table(("VARIABLE", "VALUE", "FROM"), rows)
    return 0


def _submitted(resolved_job: ResolvedJob | None, resume: str, cluster: Cluster, user: str | None) -> Run:
    """A new run of the job; without a job, the run of that name once more."""
    from clusterwright.launch.submit import resume as resumed
    from clusterwright.launch.submit import submit

    remote = connection_to(cluster)
    run = (
        submit(resolved_job.job, cluster, remote, user=user, base_folder=resolved_job.base_folder)
        if resolved_job
        else resumed(resume, cluster, remote, user=user)
    )
    _show_run(run.runs[0] if run.runs else run.name, run.job_id)
    if run.runs:
        show_message(
            _(
                "array {run}: {count} runs, {runs} to {runs2}",
                run=run.name,
                count=len(run.runs),
                runs=run.runs[0],
                runs2=run.runs[-1],
            )
        )
    for warned in run.warnings:
        show_message(str(warned))
    return run


def _something(arguments: tuple[str, ...], resume: str | None) -> None:
    """There is something to train."""
    if not arguments and resume is None:
        fix = _("wright train job.yaml, wright train -- python train.py, or --resume RUN")
        raise WrightError.from_code("no-job-file", _("no job file is named"), fix, exit_code=EXIT_USAGE)


def _local(resolved_job: ResolvedJob, folder: Path, *, dry_run: bool) -> int:
    """Always followed: an interrupt asks the ranks to save, and ends the run; a second one ends the following."""
    from clusterwright.launch.local import interrupt, local

    if dry_run:
        return _dry_run(resolved_job.job, None, str(folder))
    run = local(resolved_job.job, folder, base_folder=resolved_job.base_folder)
    _show_run(run.name, run.job_id)

    def on_interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupt(run)

    signal.signal(signal.SIGINT, on_interrupt)
    code = follow(None, str(folder), run.name, live=True, ignore_interrupts=True)
    _draw(folder / run.name)
    return code


def _draw(run: Path) -> None:
    """The run's curves, as a page in its folder; a run without a readable event has none."""
    from clusterwright.cli.curves import curve_points, write_curves

    try:
        show_message(f"curves: {write_curves(curve_points(str(run), None), run / 'curves.html')}")
    except (OSError, WrightError) as error:
        show_message(_("no curves: {error}", error=error))


def _show_run(name: str, job_id: str) -> None:
    show_message(_("run {name}, job {job_id}", name=name, job_id=job_id))
    show_message(_("next: wright logs -f {name}   wright jobs   wright cancel {name}", name=name))


@dataclass(frozen=True, slots=True)
class ResolvedJob:
    """A job, the cluster it was held against, and where its relative paths begin."""

    job: Job
    cluster: Cluster | None
    base_folder: Path


def resolve_job(arguments: Sequence[str], typed: Typed, cluster: Path | None) -> ResolvedJob:
    """The job; without a cluster file it is held against none.

    Raises:
        WrightError: everything that is wrong with it.
    """
    file = Path(arguments[0])
    if file.suffix in (".yaml", ".yml"):
        if len(arguments) > 1:
            fix = _(
                "wright train {file}, or wright train -- {arguments}",
                file=file,
                arguments=" ".join(arguments),
            )
            raise WrightError.from_code(
                "train-words",
                _("behind {file} there is `{arguments}`", file=file, arguments=arguments[1]),
                fix,
                exit_code=EXIT_USAGE,
            )
        return _of_file(file, typed, cluster)
    from clusterwright.config.load import load_cluster
    from clusterwright.launch.command_line import fields

    cluster_config = load_cluster(cluster) if cluster else None
    values = {
        "time": f"{_usual(cluster_config, typed)}s",
        "code": {"folder": "."},
        **fields(arguments, os.environ),
        **typed.fields(),
    }
    if typed.code == "none":
        values = {
            **values,
            "code": None,
            "environment": {**values.get("environment", {}), "workdir": str(Path.cwd())},
        }
    return ResolvedJob(_typed(_with_paths(values, typed), cluster_config), cluster_config, Path())


def _of_file(file: Path, typed: Typed, cluster: Path | None) -> ResolvedJob:
    from clusterwright.config.load import load_both, load_cluster, load_job, source_of

    if typed.fields() or typed.set:
        cluster_config = load_cluster(cluster) if cluster else None
        values = {**source_of(file).values, **typed.fields()}
        return ResolvedJob(_typed(_with_paths(values, typed), cluster_config), cluster_config, file.parent)
    job, cluster_config = load_both(file, cluster) if cluster else (load_job(file), None)
    return ResolvedJob(job, cluster_config, file.parent)


def _with_paths(values: dict[str, Any], typed: Typed) -> dict[str, Any]:
    """With the fields of `--set`, whose values are read as those of a job file are."""
    from clusterwright.config.reader import read

    for assignment in typed.set:
        path, is_set, text = assignment.partition("=")
        if not is_set:
            fix = _("wright train --set {path}=VALUE", path=path)
            raise WrightError.from_code(
                "train-words", _("--set {path} has no value", path=path), fix, exit_code=EXIT_USAGE
            )
        source = read(f"value: {text}", f"--set {path}")
        if source.findings:
            raise SpecError(*source.findings)
        values = _with_field(values, path.split("."), source.values["value"])
    return values


def _with_field(section: Any, path: Sequence[str], value: Any) -> dict[str, Any]:
    mapping = section if isinstance(section, dict) else {}
    key, *subpath = path
    return {**mapping, key: _with_field(mapping.get(key), subpath, value) if subpath else value}


def _typed(values: dict[str, Any], cluster: Cluster | None) -> Job:
    """Read as a job file is, so that what is wrong is said in the same words."""
    from clusterwright.config.load import check_job_against, job_of
    from clusterwright.config.reader import read

    job = job_of(
        read(
            json.dumps({name: value for name, value in values.items() if value is not None}).encode(),
            "wright train",
        )
    )
    if cluster and (wrong := check_job_against(job, cluster)):
        raise SpecError(*wrong)
    return job


def _usual(cluster: Cluster | None, typed: Typed) -> int:
    """For a partition that is not there it does not matter: it is refused."""
    queues = cluster.partitions if cluster else {}
    named = (
        [queues[typed.partition]]
        if typed.partition in queues
        else [candidate for candidate in queues.values() if candidate.default]
    )
    return min([USUAL_TIME_S, *(queue.max_time for queue in named)])
