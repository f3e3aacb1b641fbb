"""Megatron-LM: its groups from the job's `parallel:`, and one queue of work, which its tensor groups count on."""

from __future__ import annotations

from typing import Any

from clusterwright.onhost.adapters.adapter import Adapter, Words, missing
from clusterwright.onhost.adapters.place import Place

# Megatron's arguments.py: communication of tensor groups overlaps only where kernels start in order.
_ONE_QUEUE = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}


def variables(_place: Place) -> dict[str, str]:
    """One queue of a GPU's work."""
    return dict(_ONE_QUEUE)


def arguments(words: Words, place: Place) -> tuple[str, ...]:
    """The sizes of `parallel:` that the line does not have; nothing where the job says none."""
    if not place.parallel:
        return tuple(words)
    cut, shard = place.cut, place.cut("shard") != "none"
    over = {name: size for name, size in _sizes(place).items() if size not in (None, 1)}
    full: dict[str, Any] = {
        "recompute_granularity": "full",
        "recompute_method": "uniform",
        "recompute_num_layers": 1,
    }
    ways: dict[str, dict[str, Any]] = {"full": full, "selective": {"recompute_granularity": "selective"}}
    recompute = ways.get(str(cut("recompute")), {})
    return (
        *words,
        *missing(
            words,
            **over,
            **recompute,
            micro_batch_size=cut("micro_batch"),
            sequence_parallel=bool(cut("sequence_parallel")),
            use_distributed_optimizer=shard,
        ),
    )


def _sizes(place: Place) -> dict[str, object]:
    return {
        "tensor_model_parallel_size": place.cut("tensor"),
        "pipeline_model_parallel_size": place.cut("pipeline"),
        "context_parallel_size": place.cut("context"),
        "expert_model_parallel_size": place.cut("expert"),
        "expert_tensor_parallel_size": place.cut("expert_tensor"),
    }


ADAPTER = Adapter(
    module="",
    install="git clone https://github.com/NVIDIA/Megatron-LM",
    variables=variables,
    arguments=arguments,
    global_batch="--global-batch-size",
    micro_batch="--micro-batch-size",
)
