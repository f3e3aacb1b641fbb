"""Tensor parallelism (as in Megatron-LM) and context parallelism of a LLaMA.

In a tensor group each rank has some heads and some of the network's inner width, and for norms and residuals some of
the positions (sequence parallel). Imported lazily: torch's module for it takes two seconds.
"""

from __future__ import annotations

from typing import Any

from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from clusterwright.runtime.recipes.context import Context


def parallelize(model: Any, mesh: Any) -> None:
    """Apply tensor and context parallelism to a Llama model, by the dimensions `tp` and `cp` of the mesh.

    Raises:
        ValueError: the tensor group does not divide the heads, the inner width or the vocabulary.
    """
    if mesh["cp"].size() > 1:
        model.context = Context(mesh.get_group("cp"))
        for layer in model.stage.select_layers(model.model.layers):
            layer.self_attn.context = model.context
    size = mesh["tp"].size()
    if size > 1:
        _check(model.config, size)
        model.multiple = size
        parallelize_module(model, mesh["tp"], _outer_plan(model.stage))
        for layer in model.stage.select_layers(model.model.layers):
            parallelize_module(layer, mesh["tp"], _inside())
        model.tie()


def _outer_plan(stage: Any) -> dict[str, Any]:
    begin = {"model.embed_tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))}
    end = {
        "model.norm": SequenceParallel(),
        "lm_head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    return {**(begin if stage.is_first else {}), **(end if stage.last else {})}


def _inside() -> dict[str, Any]:
    return {
        "input_layernorm": SequenceParallel(),
        "self_attn": PrepareModuleInput(
            input_layouts=(Shard(1), None), desired_input_layouts=(Replicate(), None)
        ),
        "self_attn.q_proj": ColwiseParallel(),
        "self_attn.k_proj": ColwiseParallel(),
        "self_attn.v_proj": ColwiseParallel(),
        "self_attn.o_proj": RowwiseParallel(output_layouts=Shard(1)),
        "post_attention_layernorm": SequenceParallel(),
        "mlp": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        "mlp.gate_proj": ColwiseParallel(),
        "mlp.up_proj": ColwiseParallel(),
        "mlp.down_proj": RowwiseParallel(output_layouts=Shard(1)),
    }


def _check(config: Any, size: int) -> None:
    for name in ("num_attention_heads", "num_key_value_heads", "intermediate_size", "vocab_size"):
        if getattr(config, name) % size:
            raise ValueError(f"{name} {getattr(config, name)} does not divide over a tensor group of {size}")
