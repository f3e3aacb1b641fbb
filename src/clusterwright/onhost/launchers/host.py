"""The program runs once on each host and starts the ranks there, as torchrun does; ranks are not restarted."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Allocation, Launcher
from clusterwright.onhost.launchers.srun import step


def arguments(allocation: Allocation, program: Sequence[str]) -> list[str]:
    """Return the command line of one task per host with all of its CPUs."""
    return step(allocation, 1, ["--kill-on-bad-exit=1"], program)


LAUNCHER = Launcher(job_command=arguments, kind="host", programs=("bash", "sh"))
