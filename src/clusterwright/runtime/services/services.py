"""What a loop may ask of its run at any place: groups of ranks, precision, pieces of a batch, clipping."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, TypeVar

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from clusterwright.runtime.group import Group
from clusterwright.runtime.meter import Meter
from clusterwright.runtime.services import accumulate, clip, mesh, names, precision
from clusterwright.runtime.settings import Settings
from clusterwright.runtime.tracked import Tracked

M = TypeVar("M", bound=nn.Module)


class Services:
    """The part of a run that knows ranks and numbers, and nothing of steps.

    `scaler` is a GradScaler of torch, saved and resumed; it does nothing unless the precision is fp16. `parallel` is
    what the job file says under that name, `dimensions` the sizes of the mesh that follow from it. `flops` is how many
    floating-point operations all ranks together owe a step; a script that says so before `steps` learns its MFU.
    """

    flops: float | None = None

    def __init__(self, joined: Group, given: Settings) -> None:
        self.rank, self.local_rank, self.world_size = joined.rank, joined.local_rank, joined.world_size
        self.device, self.folder, self.generation = joined.device, given.run, given.generation
        self.parallel = given.parallel
        self.dimensions = mesh.sizes(given.parallel, joined.world_size)
        self._dtype = precision.choose(given.precision, joined.device)
        self._tracked = Tracked()
        self._meter = Meter(self.device)
        self.scaler = precision.scaler(self._dtype, self.device)
        if self.scaler.is_enabled():
            self._tracked.add(scaler=self.scaler)

    @cached_property
    def mesh(self) -> DeviceMesh:
        """The ranks as `parallel` in the job file cuts them; all ranks ask for it at the same place."""
        return mesh.make(self.device.type, self.dimensions)

    def autocast(self) -> AbstractContextManager[object]:
        """Around the forward pass: compute in the precision of the run."""
        return precision.autocast(self._dtype, self.device)

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
