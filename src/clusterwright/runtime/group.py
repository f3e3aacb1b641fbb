"""The process group of a training: this rank, its device, and how ranks exchange values."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from clusterwright.runtime import plain_values, slurm
from clusterwright.runtime.checkpoints import memory

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
        """Return the values of all ranks, in rank order, on all ranks; collective."""
        return gather(value, self.control)

    def share(self, value: T) -> T:
        """Return rank 0's value on all ranks; collective.

        Objects and containers of other classes become copies of those in this rank's `value`, with rank 0's content.

        Raises:
            TypeError: rank 0's value contains something that cannot be sent.
        """
        data, problem = b"", None
        try:
            data = plain_values.encode(value) if self.rank == 0 else b""
        except TypeError as error:
            problem = error
        size = torch.tensor([-1 if problem else len(data)])
        dist.broadcast(size, 0, group=self.control)
        if int(size) < 0:
            raise problem or TypeError(
                "rank 0 has a value that cannot be sent to other ranks; its log has the type"
            )
        shared = memory.tensor(data) if self.rank == 0 else torch.empty(int(size), dtype=torch.uint8)
        dist.broadcast(shared, 0, group=self.control)
        return value if self.rank == 0 else plain_values.decode(bytes(memory.view(shared)), value)

    @property
    def store(self) -> Any:
        """Return the key-value store of the process group, which ranks use without a collective."""
        return distributed_c10d._get_default_store()  # noqa: SLF001 (no public API)

    def destroy(self) -> None:
        """Wait for all ranks, then destroy the process group."""
        dist.barrier(group=self.control)
        dist.destroy_process_group()


def gather(value: T, group: Any) -> list[T]:
    """Return the values of all ranks of a Gloo group, in rank order; collective.

    torch's own function would unpickle them.
    """
    data = memory.tensor(plain_values.encode(value))
    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size(group))]
    dist.all_gather(sizes, torch.tensor([len(data)]), group=group)
    longest = max(int(size) for size in sizes)
    padded = [torch.empty(longest, dtype=torch.uint8) for _ in sizes]
    dist.all_gather(padded, torch.nn.functional.pad(data, (0, longest - len(data))), group=group)
    return [
        plain_values.decode(bytes(memory.view(received[: int(size)])))
        for received, size in zip(padded, sizes)
    ]


def join(environ: MutableMapping[str, str] = os.environ) -> Group:
    """Return this rank's group; initialize the process group of ranks started by torchrun or srun; collective.

    Without a launcher a group of one. NCCL with CUDA, else Gloo. A process group that the script has initialized is
    used as it is. Slurm's variables are copied into `environ` where torchrun's are missing.
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
    """Return this rank's device: the GPU of its local rank, or the only GPU visible to its task, or the CPU.

    A GPU becomes torch's current device.
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", local_rank if torch.cuda.device_count() > 1 else 0)
    torch.cuda.set_device(device)
    return device
