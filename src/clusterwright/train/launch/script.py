"""A job as an sbatch script that stands alone: what `wright train --dry-run` prints and `sbatch` takes."""

from __future__ import annotations

import shlex

from clusterwright.errors import SpecError
from clusterwright.spec.cluster import Cluster
from clusterwright.spec.job import Job
from clusterwright.spec.load import check_job_against
from clusterwright.train.agent.private import PLACE
from clusterwright.train.launch.command import LIBRARY, command, grace_s, options, python
from clusterwright.train.launch.parallel import variables
from clusterwright.train.launch.share import partition, share
from clusterwright.units import format_duration, format_slurm_time


def script(job: Job, cluster: Cluster, run: str) -> str:
    """The whole text for a run in the folder `run`; the same job always gives the same text.

    Raises:
        SpecError: the job does not fit the cluster; every reason why.
    """
    if found := check_job_against(job, cluster):
        raise SpecError(*found)
    return "\n\n".join((_head(job, cluster, run), _settings(job), _start(job, cluster, run))) + "\n"


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
        ("ntasks-per-node", 1, "one agent on each host; it starts the ranks"),
        ("gres", part.gres, "on each host"),
        ("cpus-per-task", part.cpus, "the share of a host that goes with its GPUs"),
        ("mem", f"{part.memory_mib}M", "likewise"),
        ("time", format_slurm_time(job.time), format_duration(job.time)),
        ("signal", f"B:USR1@{grace_s(job)}", "seconds before the limit: save, leave, let a successor go on"),
        ("chdir", job.environment.workdir or run, ""),
        ("output", f"{run}/slurm-%j.out", ""),
        ("open-mode", "append", ""),
        ("export", "NONE", "nothing of the shell that submits; what is needed is said below"),
        ("no-kill", None, "a lost host does not end the job: the supervisor goes on without it"),
        ("no-requeue", None, "a requeued job waits two minutes; a successor starts at once"),
    ]
    shown = [_line(*line) for line in lines if line[1] is not None or line[0].startswith("no-")]
    made = f"# Made by clusterwright from job `{job.name}`. By hand: mkdir -p {run} && sbatch THIS_FILE"
    return "\n".join(["#!/bin/bash", made, *shown])


def _line(option: str, value: object, why: str) -> str:
    # sbatch reads a # after the options of a line as a comment
    text = f"#SBATCH --{option}" + (f"={value}" if value is not None else "")
    return f"{text:<44} # {why}" if why else text


def _settings(job: Job) -> str:
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
    if job.environment.variables:
        lines += [
            "# Everyone who may read the run's folder can read these. Secrets go to",
            f"# {PLACE} (mode 0600) of the job's user.",
        ]
    lines += [f"export {name}={shlex.quote(text)}" for name, text in job.environment.variables.items()]
    lines += [f"export {name}={shlex.quote(text)}" for name, text in variables(job).items()]
    return "\n".join(lines)


def _start(job: Job, cluster: Cluster, run: str) -> str:
    networks, part = cluster.networks, share(job, cluster)
    management = str(networks.management.subnet)
    compute = str(networks.compute.subnet) if networks.compute else management
    pairs = options(job, run, compute=compute, management=management, gres=part.gres)
    lines = [f"exec {shlex.quote(python(job, cluster))} -m clusterwright.train.agent.supervisor"]
    lines += [f"  {name} {shlex.quote(text)}" for name, text in pairs]
    lines += [f"  -- {shlex.join(command(job))}"]
    why = (
        "# Keeps the training alive: restarts, spares, successors. `exec`, so that Slurm's signals reach it."
    )
    return why + "\n" + " \\\n".join(lines)
