"""PyTorch's elastic torchrun on each host, with c10d's rendezvous.

Ranks are bound to its life (bound.py); who serves the rendezvous is said, never guessed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Launcher
from clusterwright.onhost.supervisor.host import bound
from clusterwright.onhost.supervisor.host.generation import Generation

# torchrun looks at its ranks this often; its own default is 0.1 s, and a look costs 20 us a rank
MONITOR_S = "0.1"
# hosts of one generation are told within milliseconds; slower than this, something is wrong with the network
JOIN_S = "60"
# a new store per restart: with the shared one 16 of 23 restarts were not clean (docs/decisions/0001)
ENVIRONMENT = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def arguments(generation: Generation, command: Sequence[str]) -> list[str]:
    """With a rendezvous of its own for each generation."""
    serves = int(generation.host == generation.hosts[0])
    meeting = [
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={generation.address}:{generation.port}",
        f"--rdzv-id={os.path.basename(generation.run)}-{generation.number}",
        f"--rdzv-conf=is_host={serves},join_timeout={JOIN_S}",
        f"--max-restarts={generation.restarts}",
    ]
    return command_line(generation, meeting, command)


def command_line(generation: Generation, meeting: Sequence[str], command: Sequence[str]) -> list[str]:
    """The command line of torchrun, with the program that say how hosts meet."""
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        f"--nnodes={len(generation.hosts)}",
        f"--nproc-per-node={generation.ranks}",
        *meeting,
        f"--local-addr={generation.local_address}",
        f"--monitor-interval={MONITOR_S}",
        f"--log-dir={generation.log_dir}",
        "--redirects=3",
        "--no-python",
        sys.executable,
        "-S",
        os.path.abspath(bound.__file__),
        sys.executable,
        "-u",
        *command,
    ]


LAUNCHER = Launcher(on_host=arguments, environment=ENVIRONMENT)
