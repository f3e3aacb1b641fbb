"""How a recipe's model lies over the ranks: whole on each, or in parts, as `parallel` in the job file says.

none                  DistributedDataParallel
optimizer, gradients  fully_shard, and a layer's weights stay whole from its forward to its backward pass
full                  fully_shard, and they are gathered twice
tensor, context       for models that have a `plan` for it (llama), together with fully_shard
pipeline              for models whose layers are one list (gpt, llama), together with fully_shard
"""

from __future__ import annotations

import math
from typing import Any

from torch import nn
from torch.nn.parallel import DistributedDataParallel

from clusterwright.runtime import Run, recompute
from clusterwright.runtime.recipes.stages import Stage, deal, elsewhere


class Layout:
    """This rank's place. `replica` of `replicas` says which samples are its own.

    `averaged` is how many ranks gradients are averaged over; `alike`, how many ranks have the same loss.
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
        """Whether each rank has the whole model, and needs no other to use it."""
        has_full_model = self.tensor == self.context == self.stages == 1
        return has_full_model and self._parallel.get("shard", "none") == "none"

    @property
    def judges(self) -> bool:
        """Whether this rank comes to know a loss."""
        return self.stage is None or self.stage.last

    def check(self, batch: int, microbatch: int) -> None:
        """See that a step's batch can be dealt out.

        Raises:
            ValueError: a replica would be without a sample, or ranks that work together would wait for others.
        """
        if batch < self.replicas:
            raise ValueError(f"--batch {batch} leaves some of {self.replicas} replicas without a sample")
        share = batch / self.replicas
        least, most = (math.ceil(samples / microbatch) for samples in (math.floor(share), math.ceil(share)))
        summary = f"--batch {batch} over {self.replicas} replicas in microbatches of {microbatch} is {least} of them"
        if least < self.stages:
            fix = f"needs {self.stages} or more: take a smaller --microbatch, or fewer stages"
            raise ValueError(f"{summary}, and parallel: pipeline {self.stages} {fix}")
        if least < most and not self.replicated:
            fix = f"take a batch that {self.replicas} divides"
            raise ValueError(f"{summary} for some and {most} for others, which share weights: {fix}")

    def spread(self, model: nn.Module) -> nn.Module:
        """The model, laid out over the ranks.

        Raises:
            ValueError: the model cannot be cut in that way.
        """
        if self.tensor * self.context > 1 and not hasattr(model, "parallelize"):
            raise ValueError(f"parallel: {type(model).__name__} can be replicated and sharded, and no more")
        if self.stage and not hasattr(model, "parts"):
            raise ValueError(
                f"parallel: pipeline: {type(model).__name__} has no layers that stages could share"
            )
        if self.stage:
            deal(model, self.stage)
        if self.tensor * self.context > 1:
            parallel_model: Any = model
            parallel_model.parallelize(self._run.mesh)
        recompute_mode = self._parallel.get("recompute", "none")
        if recompute_mode == "selective":
            raise ValueError(
                "parallel: recompute: selective: attention keeps little anyway; say full, or none"
            )
        if recompute_mode == "full":
            recompute(model)
        if self.replicated:
            return DistributedDataParallel(model)
        self._shard(model)
        return model

    @staticmethod
    def unwrap(model: nn.Module) -> nn.Module:
        """What an evaluation calls: the model inside DistributedDataParallel."""
        return model.module if isinstance(model, DistributedDataParallel) else model

    def _shard(self, model: nn.Module) -> None:
        """Each layer by itself, then what is left."""
        from torch.distributed.fsdp import fully_shard

        how: dict[str, Any] = {
            "mesh": self._mesh(),
            "reshard_after_forward": self._parallel.get("shard") == "full",
        }
        for parameter in model.parameters():
            parameter.data = parameter.data.contiguous()  # fully_shard refuses channels-last weights
        for layer in layers(model):
            if not elsewhere(layer):
                fully_shard(layer, **how)
        if self.stage:
            how["ignored_params"] = {parameter for parameter in model.parameters() if parameter.is_meta}
        fully_shard(model, **how)

    def _mesh(self) -> Any:
        """The ranks that share the parts; those of one sequence are among them, as their gradients are a sum too."""
        mesh, name = self._run.mesh, "dp_shard"
        if self.context > 1:
            name = "dp_shard_cp"
            mesh["dp_shard", "cp"]._flatten(name)  # noqa: SLF001 (torch has no public way to it)
        return mesh["dp_replicate", name] if self._run.dimensions["dp_replicate"] > 1 else mesh[name]


def layers(model: nn.Module) -> list[nn.Module]:
    """The members of each ModuleList and Sequential that lies in no other."""
    members: list[nn.Module] = []
    for child in model.children():
        members += list(child) if isinstance(child, (nn.ModuleList, nn.Sequential)) else layers(child)
    return members
