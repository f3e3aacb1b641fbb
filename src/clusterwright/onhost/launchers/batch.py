"""The program once, on the first host; it calls srun or mpirun itself, and ranks are not restarted."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Allocation, Launcher


def arguments(_allocation: Allocation, program: Sequence[str]) -> list[str]:
    """The program itself."""
    return list(program)


LAUNCHER = Launcher(job_command=arguments, kind="batch")
