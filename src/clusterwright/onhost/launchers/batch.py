"""The program runs once, on the first host, and calls srun or mpirun itself; ranks are not restarted."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Allocation, Launcher


def arguments(_allocation: Allocation, program: Sequence[str]) -> list[str]:
    """Return the program's command line unchanged: it runs once, in the batch step."""
    return list(program)


LAUNCHER = Launcher(job_command=arguments, kind="batch")
