"""The same job on this machine alone: local processes stand for the hosts; no root, no Slurm, no cluster file."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import clusterwright
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.files import write_whole
from clusterwright.spec.job import Job
from clusterwright.train.launch.command import command, options
from clusterwright.train.launch.parallel import variables
from clusterwright.train.launch.run import Run, run_name
from clusterwright.train.launch.submit import job_record

LOOPBACK = "127.0.0.0/8"


def local(job: Job, folder: Path, *, clock: Clock | None = None) -> Run:
    """The run, begun in `folder/NAME`; its job id is the process that stands in for Slurm."""
    now = (clock or SystemClock()).now()
    name = _new(folder.absolute(), run_name(job.name, now))
    run = folder.absolute() / name
    write_whole(run / "job.json", job_record(job, name, now, None, local=True))
    write_whole(run / "job.sh", local_script(job, str(run)), mode=0o755)
    with (run / "job.out").open("ab") as out:
        process = subprocess.Popen(  # noqa: S603 (our own script, written above)
            [run / "job.sh"], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )  # fmt: skip
    process.returncode = 0  # not ours to wait for; keeps Python from warning that a child still runs
    write_whole(run / "jobs", f"{process.pid}\n")
    return Run(name, str(process.pid), str(run))


def _new(folder: Path, name: str) -> str:
    """The name, or with -2 and so on where a run of the same second has it; its folder is made."""
    free, number = name, 1
    while True:
        try:
            (folder / free).mkdir(parents=True)
        except FileExistsError:
            number += 1
            free = f"{name}-{number}"
        else:
            return free


def local_script(job: Job, run: str) -> str:
    """The run as a script that can be started again by hand, and then goes on from the newest checkpoint."""
    library = os.pathsep.join(
        [str(Path(clusterwright.__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    )
    lines = [
        "#!/bin/bash",
        f"# Made by clusterwright from job `{job.name}`; starting it again resumes the run.",
    ]
    lines += [f"export PYTHONPATH={shlex.quote(library.strip(os.pathsep))}"]
    said = {**job.environment.variables, **variables(job)}
    lines += [f"export {name}={shlex.quote(text)}" for name, text in said.items()]
    python = job.environment.python or sys.executable
    pairs = options(job, run, compute=LOOPBACK, management=LOOPBACK, gres=None)
    start = [f"exec {shlex.quote(python)} -m clusterwright.train.agent.standin"]
    start += [f"  {name} {shlex.quote(text)}" for name, text in pairs]
    start += [f"  --local -- {shlex.join(command(job))}"]
    return "\n".join([*lines, " \\\n".join(start)]) + "\n"
