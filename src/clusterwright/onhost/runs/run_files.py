"""Slurm commands for run_jobs.py and its neighbors (standard library, Python 3.8)."""

from __future__ import annotations

import sys
from typing import Tuple

from clusterwright.onhost.lib import processes

SLURM_S = 30


def in_queue(name: str) -> bool:
    """Return True while Slurm has a job of the run that has not ended, or does not respond."""
    code, out = run_program("squeue", "--noheader", f"--name={name}", "--format=%i")
    return code != 0 or bool(out.strip())


def run_program(*argv: str) -> Tuple[int, str]:
    """Run a program; return its exit code and output. A missing program counts as failed."""
    result = processes.run(argv, SLURM_S)
    sys.stderr.write(result.err)
    return result.code, result.out
