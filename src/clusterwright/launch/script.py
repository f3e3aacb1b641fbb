"""A job as an sbatch script that stands alone: what `wright train --dry-run` prints and `sbatch` takes."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.load import check_job_against
from clusterwright.config.scratch import scratch_of
from clusterwright.errors import SpecError
from clusterwright.i18n import _
from clusterwright.launch import container
from clusterwright.launch.command import (
    LIBRARY,
    adapter,
    grace_s,
    is_plain,
    python,
    workdir,
)
from clusterwright.launch.share import partition, share
from clusterwright.launch.variables import job_variables
from clusterwright.onhost.supervisor.host.private import SECRETS_FILE
from clusterwright.provision.render.caches import caches
from clusterwright.units import format_duration, format_slurm_time

PREFIX = "CLUSTERWRIGHT_STAGED"
MODULE = "clusterwright.onhost.supervisor.staging.stage"


def script(job: Job, cluster: Cluster, run: str) -> str:
    """The whole text for a run in the folder `run`; the same job always gives the same text.

    Raises:
        SpecError: the job does not fit the cluster; every reason why.
    """
    if mistakes := check_job_against(job, cluster):
        raise SpecError(*mistakes)
    parts = (
        _head(job, cluster, run),
        settings(job, cluster),
        _dependency_check(job, cluster, run),
        staging(job, cluster),
        _start(job, cluster, run),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _head(job: Job, cluster: Cluster, run: str) -> str:
    part, name, recovery = share(job, cluster), run.rstrip("/").rpartition("/")[2], job.recovery
    lines = [
        ("job-name", name, "unique: `squeue --name` shows all jobs of the run, successors too"),
        ("partition", partition(job, cluster), ""),
        ("account", job.team, ""),
        (
            "nodes",
            job.nodes + recovery.spare_nodes,
            f"{job.nodes} to train, {recovery.spare_nodes} held ready",
        ),
        ("ntasks-per-node", *_tasks(job)),
        ("gres", part.gres, "on each host"),
        ("cpus-per-task", part.cpus // _tasks(job)[0], "the share of a host that goes with its GPUs"),
        ("mem", f"{part.memory_mib}M", "likewise"),
        ("time", format_slurm_time(job.time), format_duration(job.time)),
        ("signal", f"B:USR1@{grace_s(job)}", "seconds before the limit: save, leave, let a successor go on"),
        ("chdir", workdir(job, run) or run, ""),
        ("output", f"{run}/slurm-%j.out", ""),
        ("open-mode", "append", ""),
        ("export", "NONE", "nothing of the shell that submits; what is needed is said below"),
        *_on_lost_host(job, cluster),
        ("no-requeue", None, "a requeued job waits two minutes; a successor starts at once"),
    ]
    option_lines = [_line(*line) for line in lines if line[1] is not None or line[0].startswith("no-")]
    header = f"# Made by clusterwright from job `{job.name}`. By hand: mkdir -p {run} && sbatch THIS_FILE"
    return "\n".join(["#!/bin/bash", header, *option_lines])


def _tasks(job: Job) -> tuple[int, str]:
    """One agent on each host; or a task for each GPU, as a line of the user's own asks Slurm or MPI for."""
    if is_plain(job):
        return job.gpus_per_node, "one task for each GPU"
    return 1, "one agent on each host; it starts the ranks"


def _on_lost_host(job: Job, cluster: Cluster) -> list[tuple[str, None, str]]:
    """Where agents cannot call Slurm, it ends the job: nobody there takes over from the supervisor."""
    if is_plain(job):
        return []
    inside = container.image_settings(job, cluster)
    reason = _("a lost host does not end the job: the supervisor goes on without it")
    return [("no-kill", None, reason)] if inside is None or inside[0] == "oci" else []


def _line(option: str, value: object, reason: str) -> str:
    # sbatch reads a # after the options of a line as a comment
    text = f"#SBATCH --{option}" + (f"={value}" if value is not None else "")
    return f"{text:<44} # {reason}" if reason else text


def settings(job: Job, cluster: Cluster) -> str:
    """What the job's processes find, as lines of bash."""
    file_variables = {**cluster.jobs.variables, **job.environment.variables}
    lines = [
        "# With export=NONE srun would start its steps with an empty environment (sbatch(1)).",
        "export SLURM_EXPORT_ENV=ALL",
    ]
    if job.environment.modules:
        lines += [
            "command -v module >/dev/null || . /etc/profile",
            f"module load {shlex.join(job.environment.modules)}",
        ]
    lines += [f"export PYTHONPATH={LIBRARY}${{PYTHONPATH:+:$PYTHONPATH}}"]
    if file_variables:
        lines += [
            "# Everyone who may read the run's folder can read these. Secrets go to",
            f"# {SECRETS_FILE} (mode 0600) of the job's user.",
        ]
    lines += [f"export {name}={shlex.quote(text)}" for name, text in file_variables.items()]
    runtime_variables = {**job_variables(job), **container.variables(job, cluster)}
    lines += [f"export {name}={shlex.quote(text)}" for name, text in runtime_variables.items()]
    cache_lines = [
        f'export {name}="{text}"' for name, text in caches(cluster).items() if name not in file_variables
    ]
    lines += [': "${USER:=$(id -un)}"', *cache_lines] if cache_lines else []
    return "\n".join(lines)


def _dependency_check(job: Job, cluster: Cluster, run: str) -> str:
    """A second look at the runs that this one waits for: Slurm sees their jobs alone."""
    runs = run.rstrip("/").rpartition("/")[0]
    run_paths = [f"{runs}/{name}" for name in job.dependencies if not name.isdigit()]
    if not run_paths:
        return ""
    from clusterwright.onhost.supervisor.dependencies import WAITS

    python_outside = f"$(command -v {shlex.quote(cluster.software.python)} || command -v python3)"
    check_command = (
        f'"{python_outside}" -m clusterwright.onhost.supervisor.dependencies {shlex.join([run, *run_paths])}'
    )
    return f"""# Where one of these runs goes on in a successor, this one waits for that, in a new job.
{check_command}
case $? in 0) ;; {WAITS}) exit 0 ;; *) exit 1 ;; esac"""


def _has_framework(job: Job, cluster: Cluster, run: str) -> str:
    """Only where the job names one: torch's own is missed soon enough."""
    if "framework" not in job.model_fields_set or not adapter(job).module:
        return ""
    check_command = shlex.join(
        [python(job, cluster), "-m", "clusterwright.onhost.adapters.framework_check", run, job.framework]
    )
    return (
        f"# A Python without {job.framework} ends the run here, with "
        f"what installs it.\n{check_command} || exit 1\n\n"
    )


def _start(job: Job, cluster: Cluster, run: str) -> str:
    inside = container.image_settings(job, cluster)
    start = '"$outside"' if inside else shlex.quote(python(job, cluster))
    module = "plain" if is_plain(job) else "supervisor"
    does = (
        "Starts the program, and says how it ended"
        if is_plain(job)
        else "Keeps the training alive: restarts, spares, successors"
    )
    reason = _("# {does}; job.json says how. `exec`, so that Slurm's signals reach it.", does=does)
    check = (
        container.image_check_script(run, inside, cluster) if inside else _has_framework(job, cluster, run)
    )
    return f"{check}{reason}\nexec {start} -m clusterwright.onhost.supervisor.{module} {shlex.quote(run)}"


def staging(job: Job, cluster: Cluster) -> str:
    """One step on every host, held-ready ones too; the job ends here where one of them cannot have it all."""
    paths = [data.path for data in job.data if data.stage == "local"]
    scratch = scratch_of(cluster, partition(job, cluster))
    if not paths or scratch is None:
        return ""
    command = shlex.join([cluster.software.python, "-m", MODULE, scratch, *paths])
    return f"""# Copied once to each host's own disk; the team's next job finds it there. A path behind ${PREFIX}
# is local: os.environ.get("{PREFIX}", "") + "{paths[0]}" is the copy, and the original where nothing is staged.
srun --ntasks-per-node=1 --no-kill --kill-on-bad-exit=0 --quiet {command} || exit 1
export {PREFIX}={shlex.quote(scratch)}/jobs/$SLURM_JOB_ID/data"""
