"""Megatron-LM: sizes from the job's `parallel:`, and the single hardware queue that its tensor parallelism requires."""

from __future__ import annotations

from typing import Any

from clusterwright.onhost.adapters.adapter import Adapter, Argv, missing
from clusterwright.onhost.adapters.process_context import ProcessContext

# Megatron's arguments.py: communication of tensor groups overlaps only where kernels start in order.
_SINGLE_QUEUE = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}


def variables(_context: ProcessContext) -> dict[str, str]:
    """Return CUDA_DEVICE_MAX_CONNECTIONS=1, which tensor parallelism requires."""
    return dict(_SINGLE_QUEUE)


def arguments(argv: Argv, context: ProcessContext) -> tuple[str, ...]:
    """Return the command line with Megatron's options for the sizes of `parallel:` that it lacks.

    Unchanged without `parallel:`.
    """
    if not context.parallel:
        return tuple(argv)
    parallel_option, shard = context.parallel_option, context.parallel_option("shard") != "none"
    over = {name: size for name, size in _sizes(context).items() if size not in (None, 1)}
    full: dict[str, Any] = {
        "recompute_granularity": "full",
        "recompute_method": "uniform",
        "recompute_num_layers": 1,
    }
    recompute_modes: dict[str, dict[str, Any]] = {
        "full": full,
        "selective": {"recompute_granularity": "selective"},
    }
    recompute = recompute_modes.get(str(parallel_option("recompute")), {})
    return (
        *argv,
        *missing(
            argv,
            **over,
            **recompute,
            micro_batch_size=parallel_option("micro_batch"),
            sequence_parallel=bool(parallel_option("sequence_parallel")),
            use_distributed_optimizer=shard,
        ),
    )


def _sizes(context: ProcessContext) -> dict[str, object]:
    return {
        "tensor_model_parallel_size": context.parallel_option("tensor"),
        "pipeline_model_parallel_size": context.parallel_option("pipeline"),
        "context_parallel_size": context.parallel_option("context"),
        "expert_model_parallel_size": context.parallel_option("expert"),
        "expert_tensor_parallel_size": context.parallel_option("expert_tensor"),
    }


ADAPTER = Adapter(
    module="",
    install="git clone https://github.com/NVIDIA/Megatron-LM",
    variables=variables,
    arguments=arguments,
    global_batch="--global-batch-size",
    micro_batch="--micro-batch-size",
    replica_sizes=(
        "--tensor-model-parallel-size",
        "--pipeline-model-parallel-size",
        "--context-parallel-size",
    ),
)
