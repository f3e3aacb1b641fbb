"""PyTorch: torch.distributed's variables, and torchrun's for options missing from its command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.onhost.adapters.adapter import Adapter

if TYPE_CHECKING:
    from clusterwright.onhost.adapters.process_context import ProcessContext


def of_rank(context: ProcessContext) -> dict[str, str]:
    """Return the variables of `init_process_group` (env://) for a rank that Slurm or MPI has started."""
    numbers = {
        "RANK": context.rank, "LOCAL_RANK": context.local_rank, "WORLD_SIZE": context.world,
        "LOCAL_WORLD_SIZE": context.ranks, "NODE_RANK": context.host, "GROUP_RANK": context.host,
    }  # fmt: skip
    return {**{name: str(number) for name, number in numbers.items()}, **_meeting(context)}


def of_launcher(context: ProcessContext) -> dict[str, str]:
    """Return the defaults that torchrun and torch.distributed.launch read (PET_*, argparse_util.py)."""
    return {
        **_meeting(context),
        "NODE_RANK": str(context.host),
        "NNODES": str(len(context.hosts)),
        "NPROC_PER_NODE": str(context.ranks),
        "PET_NNODES": str(len(context.hosts)),
        "PET_NPROC_PER_NODE": str(context.ranks),
        "PET_NODE_RANK": str(context.host),
        "PET_RDZV_ID": context.job,
        "PET_MASTER_ADDR": context.address,
        "PET_MASTER_PORT": str(context.port),
        "PET_RDZV_ENDPOINT": f"{context.address}:{context.port}",
        # c10d: the serving host is set, not guessed from host names
        "PET_RDZV_CONF": f"is_host={int(context.host == 0)}",
    }


def variables(context: ProcessContext) -> dict[str, str]:
    """Return torch's variables for a rank, or for a torchrun that starts ranks."""
    return of_launcher(context) if context.starts_ranks else of_rank(context)


def _meeting(context: ProcessContext) -> dict[str, str]:
    return {"MASTER_ADDR": context.address, "MASTER_PORT": str(context.port)}


ADAPTER = Adapter(
    module="torch",
    install="pip install torch",
    programs=("torchrun",),
    modules=("torch.distributed.launch", "torch.distributed.run"),
)
