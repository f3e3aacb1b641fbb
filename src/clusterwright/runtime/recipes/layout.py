"""The parallel layout of a recipe's model, from `parallel` in the job file.

none                  DistributedDataParallel
optimizer, gradients  fully_shard without resharding after the forward pass
full                  fully_shard with resharding: weights are gathered for both passes
tensor, context       with fully_shard, for models with `parallelize` (llama)
pipeline              with fully_shard, for models with `parts` (gpt, llama)
"""

from __future__ import annotations

import math
from typing import Any

from torch import nn
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime import Run, recompute
from clusterwright.runtime.recipes.stages import Stage, deal, elsewhere


class Layout:
    """This rank's position in the layout: it trains on the samples of replica `replica` of `replicas`.

    Gradients are averaged over `averaged` ranks; `alike` ranks compute the same loss.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._parallel = run, run.parallel
        self.context, self.tensor = run.dimensions["cp"], run.dimensions["tp"]
        self.stages = run.dimensions.get("pp", 1)
        self.alike = self.tensor
        self.averaged = run.world_size // (self.tensor * self.stages)
        self.replicas = self.averaged // self.context
        self.replica = run.rank // (self.tensor * self.context) % self.replicas
        self.stage: Stage | None = None
        if self.stages > 1:
            self.stage = Stage(run.mesh.get_group("pp"), self._parallel.get("schedule", "1f1b"))

    @property
    def replicated(self) -> bool:
        """Return True if each rank has the whole model and can evaluate without the others."""
        has_full_model = self.tensor == self.context == self.stages == 1
        return has_full_model and self._parallel.get("shard", "none") == "none"

    @property
    def judges(self) -> bool:
        """Return True if this rank computes the loss: without a pipeline, or in its last stage."""
        return self.stage is None or self.stage.last

    def check(self, batch: int, microbatch: int) -> None:
        """Raise ValueError if a step's batch cannot be distributed over the replicas.

        Raises:
            ValueError: a replica would get no sample, or replicas with collectives between them would have different
                numbers of microbatches, or a pipeline too few.
        """
        if batch < self.replicas:
            raise ValueError(f"--batch {batch} leaves some of {self.replicas} replicas without a sample")
        share = batch / self.replicas
        least, most = (math.ceil(samples / microbatch) for samples in (math.floor(share), math.ceil(share)))
        summary = f"--batch {batch}, --microbatch {microbatch}: microbatches per replica: {least}"
        if least < self.stages:
            fix = f"needs at least {self.stages}; fix: use a smaller --microbatch or fewer stages"
            raise ValueError(f"{summary}, but parallel: pipeline {self.stages} {fix}")
        if least < most and not self.replicated:
            fix = f"use a --batch that is a multiple of {self.replicas}"
            raise ValueError(f"{summary} on some and {most} on others, which share weights; fix: {fix}")

    def spread(self, model: nn.Module) -> nn.Module:
        """Distribute the model over the ranks by `parallel:`, turn on recomputation if set, and return it.

        Wrapped in DistributedDataParallel if only replicated; layers of other pipeline stages move to the device
        `meta`.

        Raises:
            ValueError: the model does not support the layout, or recomputation is `selective`.
        """
        if self.tensor * self.context > 1 and not hasattr(model, "parallelize"):
            raise ValueError(
                f"parallel: {type(model).__name__} supports neither tensor nor context parallelism"
            )
        if self.stage and not hasattr(model, "parts"):
            raise ValueError(f"parallel: pipeline: {type(model).__name__} has no layers to split into stages")
        if self.stage:
            deal(model, self.stage)
        if self.tensor * self.context > 1:
            parallel_model: Any = model
            parallel_model.parallelize(self._run.mesh)
        recompute_mode = self._parallel.get("recompute", "none")
        if recompute_mode == "selective":
            raise ValueError(
                "parallel: recompute: selective: attention stores little here anyway; fix: use full or none"
            )
        if recompute_mode == "full":
            recompute(model)
        if self.replicated:
            return DistributedDataParallel(model)
        self._shard(model)
        return model

    @staticmethod
    def unwrap(model: nn.Module) -> nn.Module:
        """Return the model inside DistributedDataParallel, or the model itself, for evaluations."""
        return model.module if isinstance(model, DistributedDataParallel) else model

    def _shard(self, model: nn.Module) -> None:
        """Apply fully_shard to each layer of this stage, then to the rest; weights become contiguous."""
        from torch.distributed.fsdp import fully_shard

        how: dict[str, Any] = {
            "mesh": self._mesh(),
            "reshard_after_forward": self._parallel.get("shard") == "full",
        }
        for parameter in model.parameters():
            parameter.data = parameter.data.contiguous()  # fully_shard rejects channels-last weights
        for layer in layers(model):
            if not elsewhere(layer):
                fully_shard(layer, **how)
        if self.stage:
            how["ignored_params"] = {parameter for parameter in model.parameters() if parameter.is_meta}
        fully_shard(model, **how)

    def _mesh(self) -> Any:
        """Return the device mesh for fully_shard; it includes context ranks, as their gradients are summed, too."""
        mesh, name = self._run.mesh, "dp_shard"
        if self.context > 1:
            name = "dp_shard_cp"
            mesh["dp_shard", "cp"]._flatten(name)  # noqa: SLF001 (no public API)
        return mesh["dp_replicate", name] if self._run.dimensions["dp_replicate"] > 1 else mesh[name]


def layers(model: nn.Module) -> list[nn.Module]:
    """Return the members of each outermost ModuleList and Sequential in a model."""
    members: list[nn.Module] = []
    for child in model.children():
        members += list(child) if isinstance(child, (nn.ModuleList, nn.Sequential)) else layers(child)
    return members
