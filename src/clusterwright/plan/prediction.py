"""Predicted memory and time of a run; every field is a number, or an array with one element per layout."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.plan.numbers import Real


class Bound(StrEnum):
    """What limits a run: the cause of most of the time beyond the ideal."""

    COMPUTE = "compute"
    MEMORY_BANDWIDTH = "memory-bandwidth"
    TENSOR_PARALLEL = "tensor-parallel comm"
    PIPELINE_BUBBLE = "pipeline bubble"
    DATA_PARALLEL = "data-parallel comm"
    EXPERT = "expert comm"
    INPUT = "input"


@dataclass(frozen=True, slots=True)
class Memory:
    """Peak memory of the GPU that uses most, in bytes, by use."""

    weights: Real
    gradients: Real
    optimizer: Real
    activations: Real
    transients: Real  # logits and loss, gathered parameters, buckets, workspaces
    fragmentation: Real  # reserved by the allocator, not allocated
    context: Real  # CUDA context, NCCL buffers: outside the allocator

    @property
    def allocated(self) -> Real:
        """Bytes as `torch.cuda.max_memory_allocated` returns them."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.transients

    @property
    def total(self) -> Real:
        """Bytes as `nvidia-smi` shows them: allocated, fragmentation and CUDA context."""
        return self.allocated + self.fragmentation + self.context


@dataclass(frozen=True, slots=True)
class Time:
    """One iteration in seconds; the parts are exposed time and add up to `total`."""

    ideal: Real  # model FLOPs at the GPU's peak
    inefficiency: Real  # matrix products below the peak
    recompute: Real
    memory_bound: Real  # norms, activations, softmax: limited by memory bandwidth
    tensor_parallel: Real
    context_parallel: Real
    expert_parallel: Real
    pipeline_bubble: Real
    pipeline_comm: Real
    data_parallel: Real
    optimizer: Real
    input: Real
    jitter: Real  # stragglers, growing with the number of GPUs

    @property
    def total(self) -> Real:
        """Wall time of one iteration in seconds: the sum of all parts."""
        total: Real = 0.0
        for part in fields(self):
            total = total + getattr(self, part.name)
        return total
