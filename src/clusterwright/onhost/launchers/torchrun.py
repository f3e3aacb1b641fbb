"""PyTorch's elastic torchrun on each host, with the c10d rendezvous.

Ranks die with their torchrun (bound.py); the host that serves the rendezvous is set explicitly, not guessed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from clusterwright.onhost.adapters.launcher import Launcher
from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.supervisor.host import bound
from clusterwright.onhost.supervisor.host.generation import Generation

# torchrun polls its ranks at this interval; its default is 0.1 s, and a poll costs 20 us per rank
MONITOR_S = "0.1"
# hosts of a generation start within milliseconds; slower than this, the network is broken
JOIN_S = "60"
# a new store per restart: with a shared one 16 of 23 restarts failed (docs/decisions/0001)
ENVIRONMENT = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def arguments(generation: Generation, command: Sequence[str]) -> list[str]:
    """Return torchrun's command line with a rendezvous per generation."""
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
    """Return torchrun's command line for a generation; `meeting` are the rendezvous options."""
    return [
        sys.executable,
        *module_arguments("torch.distributed.run"),
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
