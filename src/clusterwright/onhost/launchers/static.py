"""PyTorch's torchrun on each host with fixed ranks, which restarts none itself.

5 of 8 restarts by torchrun hung (docs/decisions/0001); instead the supervisor starts another generation.
"""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Launcher
from clusterwright.onhost.launchers import torchrun
from clusterwright.onhost.supervisor.host.generation import Generation


def arguments(generation: Generation, command: Sequence[str]) -> list[str]:
    """Return torchrun's command line with the static rendezvous, for fixed node ranks."""
    meeting = [
        f"--node-rank={generation.hosts.index(generation.host)}",
        f"--master-addr={generation.address}",
        f"--master-port={generation.port}",
        "--max-restarts=0",
    ]
    return torchrun.command_line(generation, meeting, command)


LAUNCHER = Launcher(on_host=arguments, environment=torchrun.ENVIRONMENT)
