"""The ranks of a training: who this one is, on which device, and how they agree."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from clusterwright.runtime import slurm

T = TypeVar("T")


@dataclass(frozen=True)
class Group:
    """This rank among the others.

    `control` is a Gloo group apart from the one that training uses: words about saving and stopping can then
    neither wait for gradients nor be overtaken by them.
    """

    rank: int
    local_rank: int
    world_size: int
    device: torch.device
    control: Any

    def gather(self, value: T) -> list[T]:
        """The values of all ranks, in their order, on all ranks."""
        values: list[Any] = [None] * self.world_size
        dist.all_gather_object(values, value, group=self.control)
        return values

    def share(self, value: T) -> T:
        """Rank 0's value, on all ranks."""
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self.control)
        return values[0]

    @property
    def store(self) -> Any:
        """Words that any rank may leave for the others, without meeting them."""
        return distributed_c10d._get_default_store()  # noqa: SLF001 (torch has no public way to it)

    def destroy(self) -> None:
        """Wait for the others and take the groups down."""
        dist.barrier(group=self.control)
        dist.destroy_process_group()


def join(environ: MutableMapping[str, str] = os.environ) -> Group:
    """Join the ranks that torchrun or srun started; a process that nobody launched is a group of one.

    NCCL with CUDA, else Gloo. A process group that the script has made itself is used as it is.
    """
    slurm.adopt(environ)
    device = _device(int(environ.get("LOCAL_RANK", "0")))
    if not dist.is_initialized():
        _initialise(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", is_single="RANK" not in environ
        )
    return Group(
        rank=dist.get_rank(),
        local_rank=int(environ.get("LOCAL_RANK", "0")),
        world_size=dist.get_world_size(),
        device=device,
        control=dist.new_group(backend="gloo"),
    )


def _initialise(backend: str, *, is_single: bool) -> None:
    if is_single:
        store = dist.HashStore()  # type: ignore[attr-defined]  # (public, yet not in __all__)
        dist.init_process_group(backend, store=store, rank=0, world_size=1)
    else:
        dist.init_process_group(backend)


def _device(local_rank: int) -> torch.device:
    """The GPU of this rank; the only one there is where the scheduler shows each task its own."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", local_rank if torch.cuda.device_count() > 1 else 0)
    torch.cuda.set_device(device)
    return device
