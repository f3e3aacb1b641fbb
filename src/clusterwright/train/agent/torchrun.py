"""How a generation is started on one host: torchrun's arguments and environment, from plain values."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Mapping, Tuple

# torchrun looks at its ranks this often; its own default is 0.1 s, and a look costs 20 us a rank
MONITOR_S = "0.1"
# hosts of one generation are told within milliseconds; slower than this, something is wrong with the network
JOIN_S = "60"
# c10d's C++ side warns with a page of stack at every regular end; its errors are shown. Read when torch is imported.
QUIET = {"TORCH_CPP_LOG_LEVEL": "ERROR"}


@dataclass(frozen=True)
class Generation:
    """One generation, seen from one of its hosts."""

    number: int
    hosts: Tuple[str, ...]
    host: str
    ranks: int
    address: str
    port: int
    own_address: str
    interface: str
    restarts: int
    log_dir: str
    run: str


def arguments(generation: Generation, python: str, command: Tuple[str, ...]) -> list[str]:
    """Rank processes are bound to torchrun's life (rank.py); who serves the rendezvous is said, never guessed."""
    serves = int(generation.host == generation.hosts[0])
    wrapper = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank.py")
    return [
        f"--nnodes={len(generation.hosts)}", f"--nproc-per-node={generation.ranks}",
        "--rdzv-backend=c10d", f"--rdzv-endpoint={generation.address}:{generation.port}",
        f"--rdzv-id={os.path.basename(generation.run)}-{generation.number}",
        f"--rdzv-conf=is_host={serves},join_timeout={JOIN_S}",
        f"--local-addr={generation.own_address}", f"--max-restarts={generation.restarts}",
        f"--monitor-interval={MONITOR_S}", f"--log-dir={generation.log_dir}", "--redirects=3",
        "--no-python", python, "-S", wrapper, python, "-u", *command,
    ]  # fmt: skip


def environment(
    base: Mapping[str, str], generation: Generation, ours: Mapping[str, str], threads: int
) -> dict[str, str]:
    """What the ranks find; a name that the user has set stays as it is, but for the run's own facts."""
    defaults = {
        **QUIET,
        "GLOO_SOCKET_IFNAME": generation.interface,
        "NCCL_SOCKET_IFNAME": generation.interface,
        "OMP_NUM_THREADS": str(threads),
        # a new store per restart: with the shared one 16 of 23 restarts were not clean (docs/decisions/0001)
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    facts = {
        "CLUSTERWRIGHT_RUN": generation.run,
        "CLUSTERWRIGHT_GENERATION": str(generation.number),
        "CLUSTERWRIGHT_HOST": generation.host,
    }
    return {**defaults, **ours, **base, **facts}
