"""Slurm commands for run_jobs.py and its neighbors (standard library, Python 3.8)."""

from __future__ import annotations

import os
import re
import sys
from typing import List, NamedTuple, Optional, Tuple

from clusterwright.onhost.lib import processes
from clusterwright.onhost.runs.run_folders import SLURM_S, owner_of

_FIELDS = 5
_ID = re.compile(
    "[0-9]+"
)  # a job's name can contain line feeds, and then rows of its own: no row adds an option


class QueuedJob(NamedTuple):
    """A job of a run that is in Slurm's queue and has not ended."""

    id: str
    state: str
    reason: str


def queued_jobs(run: str) -> Optional[List[QueuedJob]]:
    """Return the jobs in Slurm's queue that have the run's name and the user of its folder; None if it cannot tell."""
    name, owner = os.path.basename(run), owner_of(run)
    code, out = run_program("squeue", "--noheader", "--all", f"--user={owner}", "--format=%A|%U|%T|%r|%j")
    if code != 0 or owner is None:
        return None
    rows = [line.split("|", _FIELDS - 1) for line in out.split("\n")]
    return [
        QueuedJob(row[0], row[2], row[3])
        for row in rows
        if len(row) == _FIELDS
        and _ID.fullmatch(row[0])
        and row[1].strip() == str(owner)
        and row[4].strip() == name
    ]


def in_queue(run: str) -> bool:
    """Return True if Slurm has a job of the run that has not ended, or does not respond."""
    return queued_jobs(run) != []


def cancel_jobs(run: str, *, pending: bool = False) -> None:
    """Cancel the run's jobs in Slurm, or only pending ones; never those of another user than its owner."""
    ids = [job.id for job in queued_jobs(run) or []]
    states = ["--state=PENDING"] if pending else []
    if ids:
        run_program("scancel", f"--user={owner_of(run)}", *states, *ids)


def run_program(*argv: str) -> Tuple[int, str]:
    """Run a program; return its exit code and stdout, and copy its stderr. A missing program counts as failed."""
    result = processes.run(argv, SLURM_S)
    sys.stderr.write(result.err)
    return result.code, result.out
