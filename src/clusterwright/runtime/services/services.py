"""What a loop may ask of its run at any place: groups of ranks, precision, pieces of a batch, clipping."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from clusterwright.runtime.group import Group
from clusterwright.runtime.meter import Meter
from clusterwright.runtime.services import accumulate, clip, names
from clusterwright.runtime.settings import Settings
from clusterwright.runtime.tracked import Tracked

#     pp (where it is used), dp_replicate, dp_shard, cp, tp
#
# Ranks that are next to each other share a tensor group, as those of one host should.


_GROUPS = ("tensor", "pipeline", "context")


def sizes(parallel: Mapping[str, Any], world_size: int) -> dict[str, int]:
    """The size of each dimension, from what a job file has under `parallel`.

    Without `data` there are as many replicas as the ranks make, which on fewer hosts are fewer.

    Raises:
        ValueError: the groups do not multiply to the world size; both sides are said.
    """
    tensor, pipeline, context = (int(parallel.get(name, 1)) for name in _GROUPS)
    replica = tensor * pipeline * context
    product = f"tensor {tensor} x pipeline {pipeline} x context {context}"
    if world_size % replica:
        raise ValueError(f"{product} takes {replica} ranks a replica, and {world_size} are no multiple of it")
    data = int(parallel.get("data") or world_size // replica)
    if data * replica != world_size:
        raise ValueError(f"{product} x data {data} is {data * replica}, and there are {world_size} ranks")
    shard = 1 if parallel.get("shard", "none") == "none" else int(parallel.get("shard_group") or data)
    if data % shard:
        raise ValueError(
            f"shard_group {shard} does not divide data {data}, of {world_size} ranks by {product}"
        )
    dimensions = {"dp_replicate": data // shard, "dp_shard": shard, "cp": context, "tp": tensor}
    return {"pp": pipeline, **dimensions} if pipeline > 1 else dimensions


def make(device: str, dimensions: Mapping[str, int]) -> DeviceMesh:
    """The mesh; all ranks make it at the same time."""
    return init_device_mesh(device, tuple(dimensions.values()), mesh_dim_names=tuple(dimensions))


NAMES = {"bf16": torch.bfloat16, "fp16": torch.float16, "none": None}


def choose(precision: str, device: torch.device) -> torch.dtype | None:
    """The numbers by name; `auto` is bf16 on a GPU that has it, fp16 on one that has not, none elsewhere.

    Raises:
        ValueError: no such numbers.
    """
    if precision == "auto":
        if device.type != "cuda":
            return None
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has_bf16 else torch.float16
    if precision not in NAMES:
        raise ValueError(f"precision {precision}: it is auto, {', '.join(NAMES)}")
    return NAMES[precision]


def autocast(dtype: torch.dtype | None, device: torch.device) -> AbstractContextManager[object]:
    """Around the forward pass; the backward pass then uses the same."""
    return torch.autocast(device.type, dtype=dtype) if dtype else contextlib.nullcontext()


def scaler(dtype: torch.dtype | None, device: torch.device) -> torch.amp.GradScaler:
    """Keeps the small gradients of float16 from becoming nothing; idle with all other numbers."""
    return torch.amp.GradScaler(device.type, enabled=dtype is torch.float16)


M = TypeVar("M", bound=nn.Module)


class Services:
    """The part of a run that knows ranks and numbers, and nothing of steps.

    `scaler` is a GradScaler of torch, saved and resumed; it does nothing unless the precision is fp16. `parallel` is
    what the job file says under that name, `dimensions` the sizes of the mesh that follow from it. `flops` is how many
    floating-point operations all ranks together owe a step; a script that says so before `steps` learns its MFU.
    """

    flops: float | None = None

    def __init__(self, joined: Group, settings: Settings) -> None:
        self.rank, self.local_rank, self.world_size = joined.rank, joined.local_rank, joined.world_size
        self.device, self.folder, self.generation = joined.device, settings.run, settings.generation
        self.parallel = settings.parallel
        self.dimensions = sizes(settings.parallel, joined.world_size)
        self._dtype = choose(settings.precision, joined.device)
        self._tracked = Tracked()
        self._meter = Meter(self.device)
        self.scaler = scaler(self._dtype, self.device)
        if self.scaler.is_enabled():
            self._tracked.add(scaler=self.scaler)

    @cached_property
    def mesh(self) -> DeviceMesh:
        """The ranks as `parallel` in the job file cuts them; all ranks ask for it at the same place."""
        return make(self.device.type, self.dimensions)

    def autocast(self) -> AbstractContextManager[object]:
        """Around the forward pass: compute in the precision of the run."""
        return autocast(self._dtype, self.device)

    def accumulate(self, batch: Any, micro: int, model: nn.Module | None = None) -> Iterator[Any]:
        """The batch in pieces of at most `micro` samples; gradients of `model` travel with the last."""
        return accumulate.pieces(batch, micro, model)

    def clip(self, model: nn.Module, largest: float) -> Tensor:
        """Scale the gradients down to a norm if they exceed it; returns the norm before, over all ranks."""
        stages = self.mesh.get_group("pp") if "pp" in self.dimensions else None
        norm = clip.clip(model.parameters(), largest, stages)
        self._meter.norm(norm)
        return norm

    def compile(self, model: M, **options: Any) -> M:
        """Compile a model in place by torch.compile; its checkpoints are those of the plain one."""
        names.bare(model).compile(**options)
        return model
