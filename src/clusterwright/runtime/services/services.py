"""Services of a run for the training loop: device mesh, precision, gradient accumulation, clipping, compile."""

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

# Dimensions of the mesh: pp (if used), dp_replicate, dp_shard, cp, tp.
# Adjacent ranks share a tensor group, as the ranks of one host should.


_GROUPS = ("tensor", "pipeline", "context")


def sizes(parallel: Mapping[str, Any], world_size: int) -> dict[str, int]:
    """Return the size of each mesh dimension for the `parallel` section of a job file; `pp` only with a pipeline.

    Without `data`, the number of replicas follows from the world size. `shard` without `shard_group` covers all
    replicas.

    Raises:
        ValueError: the sizes do not multiply to the world size.
    """
    tensor, pipeline, context = (int(parallel.get(name, 1)) for name in _GROUPS)
    replica = tensor * pipeline * context
    product = f"tensor {tensor} x pipeline {pipeline} x context {context}"
    if world_size % replica:
        raise ValueError(f"{product}: {replica} ranks per replica do not divide {world_size} ranks")
    data = int(parallel.get("data") or world_size // replica)
    if data * replica != world_size:
        raise ValueError(f"{product} x data {data} is {data * replica}, but the job has {world_size} ranks")
    shard = 1 if parallel.get("shard", "none") == "none" else int(parallel.get("shard_group") or data)
    if data % shard:
        raise ValueError(f"shard_group {shard} does not divide data {data} ({world_size} ranks, {product})")
    dimensions = {"dp_replicate": data // shard, "dp_shard": shard, "cp": context, "tp": tensor}
    return {"pp": pipeline, **dimensions} if pipeline > 1 else dimensions


def make(device: str, dimensions: Mapping[str, int]) -> DeviceMesh:
    """Return a new device mesh with these named dimensions; collective."""
    return init_device_mesh(device, tuple(dimensions.values()), mesh_dim_names=tuple(dimensions))


NAMES = {"bf16": torch.bfloat16, "fp16": torch.float16, "none": None}


def choose(precision: str, device: torch.device) -> torch.dtype | None:
    """Return the dtype for a precision, None for `none`.

    `auto` is bf16 on a GPU with bf16, fp16 on other GPUs, None on a CPU.

    Raises:
        ValueError: unknown precision.
    """
    if precision == "auto":
        if device.type != "cuda":
            return None
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if has_bf16 else torch.float16
    if precision not in NAMES:
        raise ValueError(f"precision={precision}: must be one of auto, {', '.join(NAMES)}")
    return NAMES[precision]


def autocast(dtype: torch.dtype | None, device: torch.device) -> AbstractContextManager[object]:
    """Return an autocast context for the forward pass; a no-op without a dtype."""
    return torch.autocast(device.type, dtype=dtype) if dtype else contextlib.nullcontext()


def scaler(dtype: torch.dtype | None, device: torch.device) -> torch.amp.GradScaler:
    """Return a GradScaler against underflow of fp16 gradients; disabled for other dtypes."""
    return torch.amp.GradScaler(device.type, enabled=dtype is torch.float16)


M = TypeVar("M", bound=nn.Module)


class Services:
    """The part of a run that does not depend on steps: ranks, mesh, precision.

    `scaler` is a torch GradScaler, saved and resumed; it does nothing unless the precision is fp16. `parallel` is
    that section of the job file, `dimensions` the mesh sizes that follow from it. `flops` is the number of
    floating-point operations of a step on all ranks together; set it before `steps` to have MFU reported.
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
        """Return the device mesh for `parallel` in the job file; the first access is collective."""
        return make(self.device.type, self.dimensions)

    def autocast(self) -> AbstractContextManager[object]:
        """Return an autocast context for the forward pass, in the precision of the run."""
        return autocast(self._dtype, self.device)

    def accumulate(self, batch: Any, micro: int, model: nn.Module | None = None) -> Iterator[Any]:
        """Yield the batch in microbatches of at most `micro` samples; `model` reduces gradients in the last only."""
        return accumulate.pieces(batch, micro, model)

    def clip(self, model: nn.Module, largest: float) -> Tensor:
        """Scale the gradients down if their global norm exceeds `largest`; return the norm before.

        The norm is also recorded with the step's metrics.
        """
        stages = self.mesh.get_group("pp") if "pp" in self.dimensions else None
        norm = clip.clip(model.parameters(), largest, stages)
        self._meter.norm(norm)
        return norm

    def compile(self, model: M, **options: Any) -> M:
        """Compile a model in place by torch.compile and return it; its checkpoints do not change."""
        names.bare(model).compile(**options)
        return model
