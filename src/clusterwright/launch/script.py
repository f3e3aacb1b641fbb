"""Render a job as a self-contained sbatch script, which `wright train --dry-run` prints."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.config.load import check_job_against
from clusterwright.errors import SpecError
from clusterwright.launch import access
from clusterwright.launch.command import (
    adapter,
    container_variables,
    grace_s,
    image_check_script,
    image_settings,
    is_plain,
    library_of,
    python,
    run_module,
    workdir,
)
from clusterwright.launch.share import partition, share
from clusterwright.launch.variables import job_variables, lab, object_storage
from clusterwright.onhost.supervisor.job import SECRETS_FILE
from clusterwright.provision.render.caches import cache_lines
from clusterwright.units import format_duration, format_slurm_time

PREFIX = "CLUSTERWRIGHT_STAGED"
MODULE = "clusterwright.onhost.supervisor.staging.stage"
TEAM = "--team"  # option of MODULE, before the folders whose copies the team shares


def script(job: Job, cluster: Cluster, run: str) -> str:
    """Return the sbatch script of a run in the folder `run`; it depends on the job and the cluster only.

    Raises:
        SpecError: the cluster cannot run the job; all findings.
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
        ("job-name", name, "unique: `squeue --name` shows all jobs of the run, with successors"),
        ("partition", partition(job, cluster), ""),
        ("account", job.team, ""),
        (
            "nodes",
            job.nodes + recovery.spare_nodes,
            f"training: {job.nodes}, standby: {recovery.spare_nodes}",
        ),
        ("ntasks-per-node", *_tasks(job)),
        ("gres", part.gres, "on each host"),
        ("cpus-per-task", part.cpus // _tasks(job)[0], "the GPUs' share of the host"),
        ("mem", part.memory_mib and f"{part.memory_mib}M", "the GPUs' share of the host"),
        ("time", format_slurm_time(job.time), format_duration(job.time)),
        (
            "signal",
            f"B:USR1@{grace_s(job)}",
            "seconds before the limit: save and exit; a successor continues",
        ),
        ("chdir", workdir(job, run) or run, ""),
        ("output", f"{run}/slurm-%j.out", ""),
        ("open-mode", "append", ""),
        ("export", "NONE", "no variables of the submitting shell; all variables are set below"),
        *_on_lost_host(job, cluster),
        ("no-requeue", None, "a requeued job waits two minutes; a successor starts at once"),
    ]
    option_lines = [_line(*line) for line in lines if line[1] is not None or line[0].startswith("no-")]
    create = access.create_command(job, run)
    header = f"# Made by clusterwright from job `{job.name}`. By hand: {create} && sbatch THIS_FILE"
    return "\n".join(["#!/bin/bash", header, *option_lines])


def _tasks(job: Job) -> tuple[int, str]:
    """Return the number of tasks per host, with a comment: one agent, or without supervision one task for each GPU."""
    if is_plain(job):
        return job.gpus_per_node, "one task for each GPU"
    return 1, "one agent on each host, which starts the ranks"


def _on_lost_host(job: Job, cluster: Cluster) -> list[tuple[str, None, str]]:
    """Return the sbatch option --no-kill with its reason: a lost host does not end the job.

    Empty for a job without the supervisor, and where agents cannot call Slurm and so cannot replace a lost supervisor.
    """
    if is_plain(job):
        return []
    inside = image_settings(job, cluster)
    reason = "a lost host does not end the job: the supervisor continues without it"
    return [("no-kill", None, reason)] if inside is None or inside[0] == "oci" else []


def _line(option: str, value: object, reason: str) -> str:
    # sbatch treats a # after the options of a line as a comment
    text = f"#SBATCH --{option}" + (f"={value}" if value is not None else "")
    return f"{text:<44} # {reason}" if reason else text


def settings(job: Job, cluster: Cluster) -> str:
    """Return lines of bash for the batch script that set up the environment of the job's processes.

    These load modules, and export PYTHONPATH and the variables of the cluster, the job and the runtime.
    """
    file_variables = {**object_storage(cluster), **cluster.jobs.variables, **job.environment.variables}
    lines = [
        "# With export=NONE srun would start its steps with an empty environment (sbatch(1)).",
        "export SLURM_EXPORT_ENV=ALL",
    ]
    if job.environment.modules:
        lines += [
            "command -v module >/dev/null || . /etc/profile",
            f"module load {shlex.join(job.environment.modules)}",
        ]
    lines += [f"export PYTHONPATH={shlex.quote(library_of(cluster))}${{PYTHONPATH:+:$PYTHONPATH}}"]
    lines += [f"export {name}={text}" for name, text in lab(cluster).items()]
    if file_variables:
        lines += [
            "# Everyone with access to the run's folder can read these variables. Write secrets to",
            f"# {SECRETS_FILE} (mode 0600) of the job's user.",
        ]
    lines += [f"export {name}={shlex.quote(text)}" for name, text in file_variables.items()]
    runtime_variables = {**job_variables(job), **container_variables(job, cluster)}
    lines += [f"export {name}={shlex.quote(text)}" for name, text in runtime_variables.items()]
    lines += cache_lines(cluster, 'export {name}="{value}"', file_variables)
    return "\n".join(lines)


def _dependency_check(job: Job, cluster: Cluster, run: str) -> str:
    """Return bash that checks the runs in `dependencies` again: Slurm knows their jobs, not successor jobs.

    Empty if all dependencies are job ids.
    """
    runs = run.rstrip("/").rpartition("/")[0]
    run_paths = [f"{runs}/{name}" for name in job.dependencies if not name.isdigit()]
    if not run_paths:
        return ""
    from clusterwright.onhost.supervisor.dependencies import WAITS

    python_outside = f"$(command -v {shlex.quote(cluster.software.python)} || command -v python3)"
    check_command = (
        f'"{python_outside}" {run_module(cluster)} clusterwright.onhost.supervisor.dependencies'
        f" {shlex.join([run, *run_paths])}"
    )
    return f"""# If one of these runs continues in a successor job, a new job waits for that one.
{check_command}
case $? in 0) ;; {WAITS}) exit 0 ;; *) exit 1 ;; esac"""


def _has_framework(job: Job, cluster: Cluster, run: str) -> str:
    """Return lines of bash that end the run, with a message, if the job's Python lacks the framework.

    Empty unless the job file sets a framework that is a module.
    """
    if "framework" not in job.model_fields_set or not adapter(job).module:
        return ""
    module = "clusterwright.onhost.adapters.framework_check"
    start = f"{shlex.quote(python(job, cluster))} {run_module(cluster)} {module}"
    check_command = f"{start} {shlex.join([run, job.framework])}"
    comment = (
        f"# Without {job.framework} in this Python the run ends here, with the command that installs it."
    )
    return f"{comment}\n{check_command} || exit 1\n\n"


def _start(job: Job, cluster: Cluster, run: str) -> str:
    inside = image_settings(job, cluster)
    start = '"$outside"' if inside else shlex.quote(python(job, cluster))
    module = "unsupervised" if is_plain(job) else "supervisor"
    does = (
        "Starts the program and records its outcome"
        if is_plain(job)
        else "Supervises the training: restarts, standby hosts, successors"
    )
    reason = f"# {does}, as set in job.json. `exec`, so that Slurm's signals reach it."
    check = (
        image_check_script(run, inside, cluster, run_module(cluster))
        if inside
        else _has_framework(job, cluster, run)
    )
    start += f" {run_module(cluster)} clusterwright.onhost.supervisor.{module}"
    return f"{check}{reason}\nexec {start} {shlex.quote(run)}"


def staging(job: Job, cluster: Cluster) -> str:
    """Return lines of bash that copy `stage: local` data on every host, standby hosts too; a failure ends the job.

    Empty without such data, or if the partition has no scratch disk.
    """
    staged = [data for data in job.data if data.stage == "local"]
    scratch = cluster.scratch_mount(partition(job, cluster))
    if not staged or scratch is None:
        return ""
    user_paths, shared = ([data.path for data in staged if data.share == reader] for reader in ("me", "team"))
    paths = [*user_paths, *([TEAM, *shared] if shared else [])]
    command = f"{shlex.quote(cluster.software.python)} {run_module(cluster)} {shlex.join([MODULE, scratch, *paths])}"
    return f"""# Copies the data once to a local disk of each host; the next job reuses it. ${PREFIX} is the prefix of
# the copies: os.environ.get("{PREFIX}", "") + "{staged[0].path}" is the copy, or the original if not staged.
srun --ntasks-per-node=1 --no-kill --kill-on-bad-exit=0 --quiet {command} || exit 1
export {PREFIX}={shlex.quote(scratch)}/jobs/$SLURM_JOB_ID/data"""
