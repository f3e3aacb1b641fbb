"""The script of a run without a scheduler: it starts the keeper of the host that its argument names."""

from __future__ import annotations

import os
import re
import shlex

from clusterwright.config.job import Job
from clusterwright.launch.variables import job_variables

# Of the shell that starts the run: what finds programs and libraries, and the settings of communication libraries.
_FORWARDED = re.compile(
    r"PATH|LD_LIBRARY_PATH|LANG|VIRTUAL_ENV|CONDA_PREFIX|CUDA_HOME|CLUSTERWRIGHT_LAUNCHERS|(NCCL|UCX|FI|GLOO|OMP)_\w+"
)


def hosts_script(job: Job, run: str, library: str, python: str) -> str:
    """Return the script; `library` is the folder of ours in the shared folder, `python` the one of the ranks."""
    forwarded = {name: text for name, text in sorted(os.environ.items()) if _FORWARDED.fullmatch(name)}
    variables = {**forwarded, **job.environment.variables, **job_variables(job)}
    path = os.pathsep.join(filter(None, [library, job.environment.variables.get("PYTHONPATH", "")]))
    exports = [
        f"export {name}={shlex.quote(text)}" for name, text in {**variables, "PYTHONPATH": path}.items()
    ]
    command = f"exec {shlex.quote(python)} -m clusterwright.onhost.supervisor.host_keeper {shlex.quote(run)}"
    comment = f"# Made by clusterwright from job `{job.name}`; starts the run's keeper of the host $1."
    return "\n".join(["#!/bin/sh", comment, *exports, f'{command} "$1"']) + "\n"
