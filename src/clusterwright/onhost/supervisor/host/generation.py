"""One generation, seen from one of its hosts, and what its ranks are told: plain values."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Dict, Mapping, Tuple

# c10d's C++ side warns with a page of stack at every regular end; its errors are shown. Read when torch is imported.
QUIET = {"TORCH_CPP_LOG_LEVEL": "ERROR"}
EXIT = "exit"  # the cause of a rank that left by itself, without an exception; others are in runtime/codes.py


@dataclass(frozen=True)
class Generation:
    """A set of hosts with the same number of ranks each, and the store at which they meet."""

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
    """What is the same for all ranks of a host and all generations; a name that the user has set stays as it is."""
    defaults = {
        **QUIET,
        "GLOO_SOCKET_IFNAME": interface,
        "NCCL_SOCKET_IFNAME": interface,
        "OMP_NUM_THREADS": str(threads),
        # lets torch count GPUs without waking CUDA, which does not outlive a fork (torch, notes on CUDA semantics)
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
    return {**defaults, **base, "CLUSTERWRIGHT_RUN": run, "CLUSTERWRIGHT_HOST": host}


def variables(generation: Generation, local_rank: int) -> Dict[str, str]:
    """Of one rank: torchrun's (torch/distributed/elastic/agent/server), and the generation."""
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
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # the store is a process of its own: no rank serves it
    }
    return {**{name: str(number) for name, number in numbers.items()}, **strings}
