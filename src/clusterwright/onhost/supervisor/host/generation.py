"""One generation as one of its hosts sees it, and the environment of its ranks; plain values."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Dict, Mapping, Tuple

# c10d's C++ code warns with a page of stack at every regular end; errors remain. Read when torch is imported.
QUIET = {"TORCH_CPP_LOG_LEVEL": "ERROR"}
EXIT = "exit"  # error code of a rank that called exit without an exception; others are in runtime/codes.py


@dataclass(frozen=True)
class Generation:
    """The hosts of a generation, its number of ranks per host, and its rendezvous store."""

    number: int
    hosts: Tuple[str, ...]
    host: str
    ranks: int
    address: str
    port: int
    local_address: str
    interface: str
    restarts: int
    log_dir: str
    run: str


def environment(base: Mapping[str, str], run: str, host: str, interface: str, threads: int) -> Dict[str, str]:
    """Return the variables that all ranks of a host share in all generations: defaults, `base`, the run, the host.

    Values of `base`, the user's, take precedence over the defaults.
    """
    defaults = {
        **QUIET,
        "GLOO_SOCKET_IFNAME": interface,
        "NCCL_SOCKET_IFNAME": interface,
        "OMP_NUM_THREADS": str(threads),
        # lets torch count GPUs without initializing CUDA, which does not survive a fork (torch, CUDA semantics)
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
    return {**defaults, **base, "CLUSTERWRIGHT_RUN": run, "CLUSTERWRIGHT_HOST": host}


def variables(generation: Generation, local_rank: int) -> Dict[str, str]:
    """Return the environment variables of one rank: torchrun's (torch/distributed/elastic/agent/server), generation."""
    group_rank = generation.hosts.index(generation.host)
    rank, world_size = group_rank * generation.ranks + local_rank, len(generation.hosts) * generation.ranks
    numbers = {
        "RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": generation.ranks,
        "GROUP_RANK": group_rank, "NODE_RANK": group_rank, "GROUP_WORLD_SIZE": len(generation.hosts),
        "ROLE_RANK": rank, "ROLE_WORLD_SIZE": world_size, "MASTER_PORT": generation.port,
        "TORCHELASTIC_RESTART_COUNT": generation.number - 1, "TORCHELASTIC_MAX_RESTARTS": generation.restarts,
        "CLUSTERWRIGHT_GENERATION": generation.number,
    }  # fmt: skip
    strings = {
        "MASTER_ADDR": generation.address,
        "ROLE_NAME": "default",
        "TORCHELASTIC_RUN_ID": f"{os.path.basename(generation.run)}-{generation.number}",
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # a separate process serves the store, no rank
    }
    return {**{name: str(number) for name, number in numbers.items()}, **strings}
