"""Files of a run and Slurm's programs, as far.py and its neighbours use them (standard library, Python 3.8)."""

from __future__ import annotations

import sys
from typing import Tuple

from clusterwright.onhost.lib import processes

SLURM_S = 30


def in_queue(name: str) -> bool:
    """True while Slurm has a job of the run that has not ended; also when Slurm does not answer."""
    code, out = run_program("squeue", "--noheader", f"--name={name}", "--format=%i")
    return code != 0 or bool(out.strip())


def run_program(*argv: str) -> Tuple[int, str]:
    """A program's exit code and output; one that is missing counts as failed."""
    result = processes.run(argv, SLURM_S)
    sys.stderr.write(result.err)
    return result.code, result.out
