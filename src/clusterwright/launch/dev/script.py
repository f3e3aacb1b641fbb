"""The job of a session as an sbatch script; pure."""

from __future__ import annotations

import shlex

from clusterwright.config.cluster import Cluster
from clusterwright.launch.command import LIBRARY
from clusterwright.launch.dev.wish import Wish, checked
from clusterwright.units import format_slurm_time

JOB_NAME = "wright-dev-"


def script(wish: Wish, cluster: Cluster) -> str:
    """The whole text, for a job that begins in the session's folder; nothing secret is in it, or in Slurm's queue."""
    asked = checked(wish, cluster)
    lines = [
        ("job-name", JOB_NAME + wish.kind),
        ("partition", asked.partition),
        ("account", wish.team),
        ("nodes", "1"),
        ("ntasks", "1"),
        ("gres", asked.gres),
        ("cpus-per-task", asked.cpus),
        ("mem", f"{asked.memory_mib}M"),
        ("time", format_slurm_time(asked.time_s)),
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
            *_settings(wish, cluster),
            'exec python3 "$PWD/hold.py" "$PWD"',
            "",
        ]
    )


def _settings(wish: Wish, cluster: Cluster) -> list[str]:
    """What trainings find, too, so that what works here works there."""
    lines = ["export SLURM_EXPORT_ENV=ALL"]
    if wish.modules:
        lines += [
            "command -v module >/dev/null || . /etc/profile",
            f"module load {shlex.join(wish.modules)}",
        ]
    lines += [f"export PYTHONPATH={LIBRARY}${{PYTHONPATH:+:$PYTHONPATH}}"]
    said = {**cluster.jobs.variables, **dict(wish.variables)}
    return lines + [f"export {name}={shlex.quote(text)}" for name, text in said.items()]
