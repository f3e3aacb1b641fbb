"""How plain torchrun is started on one host, for a job that asks for it (`launcher: torchrun`)."""

from __future__ import annotations

import os
import sys
from typing import List, Sequence

from clusterwright.onhost.supervisor.host.generation import Generation

# torchrun looks at its ranks this often; its own default is 0.1 s, and a look costs 20 us a rank
MONITOR_S = "0.1"
# hosts of one generation are told within milliseconds; slower than this, something is wrong with the network
JOIN_S = "60"
# a new store per restart: with the shared one 16 of 23 restarts were not clean (docs/decisions/0001)
ENVIRONMENT = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def arguments(generation: Generation, command: Sequence[str], *, static: bool = False) -> List[str]:
    """The command line. Ranks are bound to torchrun's life (bound.py); who serves is said, never guessed.

    With `static` ranks are fixed, and it restarts none: 5 of 8 restarts hung (docs/decisions/0001). We begin anew.
    """
    meeting = _fixed(generation) if static else _elastic(generation)
    wrapper = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bound.py")
    return [
        sys.executable, "-m", "torch.distributed.run",
        f"--nnodes={len(generation.hosts)}", f"--nproc-per-node={generation.ranks}",
        *meeting, f"--local-addr={generation.own_address}", f"--monitor-interval={MONITOR_S}",
        f"--log-dir={generation.log_dir}", "--redirects=3",
        "--no-python", sys.executable, "-S", wrapper, sys.executable, "-u", *command,
    ]  # fmt: skip


def _elastic(generation: Generation) -> List[str]:
    serves = int(generation.host == generation.hosts[0])
    return [
        "--rdzv-backend=c10d", f"--rdzv-endpoint={generation.address}:{generation.port}",
        f"--rdzv-id={os.path.basename(generation.run)}-{generation.number}",
        f"--rdzv-conf=is_host={serves},join_timeout={JOIN_S}", f"--max-restarts={generation.restarts}",
    ]  # fmt: skip


def _fixed(generation: Generation) -> List[str]:
    return [
        f"--node-rank={generation.hosts.index(generation.host)}", f"--master-addr={generation.address}",
        f"--master-port={generation.port}", "--max-restarts=0",
    ]  # fmt: skip
