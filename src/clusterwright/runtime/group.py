"""The process group of a training: this rank, its device, and how ranks exchange values."""

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
    """This rank and the ways to reach the others.

    `control` is a Gloo group separate from the one for training, so that messages about saves and stops neither
    wait for gradients nor are overtaken by them.
    """

    rank: int
    local_rank: int
    world_size: int
    device: torch.device
    control: Any

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks, in rank order, on all ranks."""
        values: list[Any] = [None] * self.world_size
        dist.all_gather_object(values, value, group=self.control)
        return values

    def share(self, value: T) -> T:
        """Return rank 0's value on all ranks."""
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self.control)
        return values[0]

    @property
    def store(self) -> Any:
        """The key-value store of the process group, which ranks use without a collective."""
        return distributed_c10d._get_default_store()  # noqa: SLF001 (no public API)

    def destroy(self) -> None:
        """Wait for all ranks, then destroy the process group."""
        dist.barrier(group=self.control)
        dist.destroy_process_group()


def join(environ: MutableMapping[str, str] = os.environ) -> Group:
    """Initialize the process group of ranks started by torchrun or srun; without a launcher, a group of one.

    NCCL with CUDA, else Gloo. A process group that the script has initialized is used as it is.
    """
    slurm.adopt(environ)
    device = _device(int(environ.get("LOCAL_RANK", "0")))
    if not dist.is_initialized():
        _initialize(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", is_single="RANK" not in environ
        )
    return Group(
        rank=dist.get_rank(),
        local_rank=int(environ.get("LOCAL_RANK", "0")),
        world_size=dist.get_world_size(),
        device=device,
        control=dist.new_group(backend="gloo"),
    )


def _initialize(backend: str, *, is_single: bool) -> None:
    if is_single:
        store = dist.HashStore()  # type: ignore[attr-defined]  # (public, yet not in __all__)
        dist.init_process_group(backend, store=store, rank=0, world_size=1)
    else:
        dist.init_process_group(backend)


def _device(local_rank: int) -> torch.device:
    """Return this rank's device: the GPU of its local rank, or the only GPU visible to its task, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", local_rank if torch.cuda.device_count() > 1 else 0)
    torch.cuda.set_device(device)
    return device
