"""PyTorch: torch.distributed's variables, and torchrun's own for what its command line leaves out."""

from __future__ import annotations

from clusterwright.onhost.adapters.adapter import Adapter
from clusterwright.onhost.adapters.place import Place


def of_rank(place: Place) -> dict[str, str]:
    """What `init_process_group` reads (env://), for a rank that Slurm or MPI has started."""
    numbers = {
        "RANK": place.rank, "LOCAL_RANK": place.local_rank, "WORLD_SIZE": place.world,
        "LOCAL_WORLD_SIZE": place.ranks, "NODE_RANK": place.host, "GROUP_RANK": place.host,
    }  # fmt: skip
    return {**{name: str(number) for name, number in numbers.items()}, **_meeting(place)}


def of_launcher(place: Place) -> dict[str, str]:
    """What torchrun and torch.distributed.launch read where their line says nothing (PET_*, argparse_util.py)."""
    return {
        **_meeting(place),
        "NODE_RANK": str(place.host),
        "NNODES": str(len(place.hosts)),
        "NPROC_PER_NODE": str(place.ranks),
        "PET_NNODES": str(len(place.hosts)),
        "PET_NPROC_PER_NODE": str(place.ranks),
        "PET_NODE_RANK": str(place.host),
        "PET_RDZV_ID": place.job,
        "PET_MASTER_ADDR": place.address,
        "PET_MASTER_PORT": str(place.port),
        "PET_RDZV_ENDPOINT": f"{place.address}:{place.port}",
        # of c10d: who serves is said, never guessed from host names
        "PET_RDZV_CONF": f"is_host={int(place.host == 0)}",
    }


def variables(place: Place) -> dict[str, str]:
    """Of a rank, or of a launcher of ranks."""
    return of_launcher(place) if place.starts_ranks else of_rank(place)


def _meeting(place: Place) -> dict[str, str]:
    return {"MASTER_ADDR": place.address, "MASTER_PORT": str(place.port)}


ADAPTER = Adapter(
    module="torch",
    install="pip install torch",
    programs=("torchrun",),
    modules=("torch.distributed.launch", "torch.distributed.run"),
)
