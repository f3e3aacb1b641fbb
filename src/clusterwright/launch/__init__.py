"""A job as a script, as a run under Slurm, or as a run on this machine; and what the run says about itself."""

from __future__ import annotations

from clusterwright.launch.events import Here, There, ended, events, wait
from clusterwright.launch.listing import Row, listed
from clusterwright.launch.local import interrupt, local, local_script
from clusterwright.launch.run import Ended, Run, run_name
from clusterwright.launch.script import script
from clusterwright.launch.submit import resume, runs_folder, submit

__all__ = [
    "Ended",
    "Here",
    "Row",
    "Run",
    "There",
    "ended",
    "events",
    "interrupt",
    "listed",
    "local",
    "local_script",
    "resume",
    "run_name",
    "runs_folder",
    "script",
    "submit",
    "wait",
]
