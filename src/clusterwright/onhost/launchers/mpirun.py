"""One process of Open MPI's mpirun for each GPU; ranks are not restarted."""

from __future__ import annotations

import os
from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Allocation, Launcher


def arguments(allocation: Allocation, program: Sequence[str]) -> list[str]:
    """Return the command line of one process per GPU, numbered host by host."""
    return [
        "mpirun",
        "-np",
        str(len(allocation.hosts) * allocation.ranks),
        "--map-by",
        f"ppr:{allocation.ranks}:node",
        "--rank-by",
        "slot",
        "--bind-to",
        "none",
        *(["--allow-run-as-root"] if os.geteuid() == 0 else []),
        *program,
    ]


LAUNCHER = Launcher(job_command=arguments, kind="task", programs=("mpirun", "mpiexec"))
