"""How families of software differ in what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterwright.plan.run import Run

PADS = ("megatron", "megatron-deepspeed")  # pad the vocabulary to a multiple of 128 x tp
FLAT = ("fsdp", "nemo-automodel", "maxtext")  # under ZeRO-3 their only sharded copy is the fp32 one
TORCH = ("fsdp", "nemo-automodel")  # PyTorch's own FSDP, tensor parallelism and pipelines
DEEPSPEED = ("deepspeed", "megatron-deepspeed")


def pipelined(run: Run) -> Any:
    """True where FSDP runs under a pipeline: parameters stay gathered from microbatch to microbatch.

    `PipelineStage.backward_maybe_with_nosync` of torch.distributed turns resharding off until the last one;
    torchtitan does not reshard after the forward pass either, nor did Llama 3's trainer (2407.21783, 3.3.2).
    """
    return (run.stack.family in TORCH) & (run.layout.zero >= 2) & (run.layout.pp > 1)


def deepspeed(run: Run) -> Any:
    """True where ZeRO is DeepSpeed's."""
    return (run.stack.family in DEEPSPEED) & (run.layout.zero >= 1)
