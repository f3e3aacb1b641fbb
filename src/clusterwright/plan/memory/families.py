"""How families of software differ in what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterwright.plan.run import Run

PADS = ("megatron", "megatron-deepspeed")  # pad the vocabulary to a multiple of 128 x tp
FLAT = ("fsdp", "nemo-automodel", "maxtext")  # under ZeRO-3 their only sharded copy is the fp32 one
DEEPSPEED = ("deepspeed", "megatron-deepspeed")


def deepspeed(run: Run) -> Any:
    """True where ZeRO is DeepSpeed's."""
    return (run.stack.family in DEEPSPEED) & (run.layout.zero >= 1)
