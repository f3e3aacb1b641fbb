"""The program once on each host; it starts the ranks there itself, as torchrun does, and they are not restarted."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Allocation, Launcher
from clusterwright.onhost.launchers.srun import step


def arguments(allocation: Allocation, program: Sequence[str]) -> list[str]:
    """One task on each host, with all of its processors."""
    return step(allocation, 1, ["--kill-on-bad-exit=1"], program)


LAUNCHER = Launcher(job_command=arguments, kind="host", programs=("bash", "sh"))
