"""Stands in for Slurm on one machine: `python -m clusterwright.onhost.supervisor.standin OPTIONS -- COMMAND`.

It starts a supervisor, and the next one when that hands over or dies, as Slurm starts the job that stands by.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import List

from clusterwright.onhost.supervisor.ending import HANDED_OVER
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.host import processes
from clusterwright.onhost.supervisor.options import read

SUPERVISOR = "clusterwright.onhost.supervisor.supervisor"


def main() -> int:
    """The run's outcome as an exit code."""
    options = read(sys.argv[1:])
    folder = Folder(options.run)
    current: List[int] = []

    def pass_on(received: int, _frame: object) -> None:
        for pid in current:
            processes.signal_process(pid, received)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, pass_on)
    code = HANDED_OVER
    for _ in range(options.successors + 1):
        child = processes.start(
            [sys.executable, "-m", SUPERVISOR, *sys.argv[1:]], os.environ, folder.at("job.out")
        )
        current[:] = [child.pid]
        code = child.wait()
        if code >= 0 and code != HANDED_OVER:
            return code
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
