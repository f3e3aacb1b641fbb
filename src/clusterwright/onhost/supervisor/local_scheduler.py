"""Slurm's stand-in on one machine: `python -m clusterwright.onhost.supervisor.local_scheduler RUN`.

It starts a supervisor, and the next one after a handoff or a killed supervisor, as Slurm starts successor and
standby jobs.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import List

from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.supervisor.ending import EXIT_HANDOFF
from clusterwright.onhost.supervisor.folder import open_run
from clusterwright.onhost.supervisor.host import processes

SUPERVISOR = "clusterwright.onhost.supervisor.supervisor"


def main() -> int:
    """Run supervisors one after the other until the run has ended; return the exit code of the last one.

    The next one starts if one handed over or was killed, at most `recovery.successors` times.
    """
    folder, record = open_run(sys.argv[1])
    current: List[int] = []

    def pass_on(received: int, _frame: object) -> None:
        for pid in current:
            processes.signal_process(pid, received)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        signal.signal(number, pass_on)
    code = EXIT_HANDOFF
    for _ in range(record.job.recovery.successors + 1):
        argv = [sys.executable, *module_arguments(SUPERVISOR, folder.path)]
        child = processes.start(argv, os.environ, folder.path_to("job.out"))
        current[:] = [child.pid]
        code = child.wait()
        if code >= 0 and code != EXIT_HANDOFF:
            return code
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
