"""Render the job of a session as an sbatch script."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.launch.command import library_of
from clusterwright.launch.dev.options import SessionOptions, checked
from clusterwright.units import format_slurm_time

JOB_NAME = "wright-dev-"


def script(options: SessionOptions, cluster: Cluster) -> str:
    """Return the sbatch script of an interactive session: one node; GPUs, CPUs, memory and time of the options.

    The session starts in its folder. The script has no secrets, as Slurm shows it.
    """
    resources = checked(options, cluster)
    lines = [
        ("job-name", JOB_NAME + options.kind),
        ("partition", resources.partition),
        ("account", options.team),
        ("nodes", "1"),
        ("ntasks", "1"),
        ("gres", resources.gres),
        ("cpus-per-task", resources.cpus),
        ("mem", None if resources.memory_mib is None else f"{resources.memory_mib}M"),
        ("time", format_slurm_time(resources.time_s)),
        ("export", "NONE"),
        ("no-requeue", None),
    ]
    head = [
        f"#SBATCH --{name}" + ("" if value is None else f"={value}")
        for name, value in lines
        if value is not None or name.startswith("no-")
    ]
    return "\n".join(
        [
            "#!/bin/bash",
            "# Made by clusterwright (wright dev).",
            *head,
            "",
            "umask 077",
            *_settings(options, cluster),
            'exec python3 "$PWD/hold.py" "$PWD"',
            "",
        ]
    )


def _settings(options: SessionOptions, cluster: Cluster) -> list[str]:
    """Return lines of bash that set up the same environment as for trainings."""
    lines = ["export SLURM_EXPORT_ENV=ALL"]
    if options.modules:
        lines += [
            "command -v module >/dev/null || . /etc/profile",
            f"module load {shlex.join(options.modules)}",
        ]
    lines += [f"export PYTHONPATH={library_of(cluster)}${{PYTHONPATH:+:$PYTHONPATH}}"]
    variables = {**cluster.jobs.variables, **dict(options.variables)}
    return lines + [f"export {name}={shlex.quote(text)}" for name, text in variables.items()]
