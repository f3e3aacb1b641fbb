"""Memory that is not a tensor of the model, fitted by `bench/accuracy/fit_memory.py` on published peaks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterwright.catalog.fitted import coefficients
from clusterwright.plan.numbers import pick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Layout, Run


@dataclass(frozen=True, slots=True)
class Coefficients:
    """All fitted coefficients of the memory model: bytes, or shares."""

    rest: float  # within the allocator, every run: masks, batches, rounding
    imbalance: float  # tokens of the busiest experts' GPU over the mean
    slack: Mapping[str, float]  # by software family: reserved beyond allocated, over allocated
    context: float  # CUDA context with its libraries, outside the allocator
    typical: float  # median of |predicted / measured - 1| on held-out sources
    spread: float  # third quartile of the same

    def slack_of(self, family: str) -> float:
        """Return the memory that the allocator reserves beyond what is allocated, as a share of what is allocated.

        By software family; for an unmeasured one the median of all.
        """
        return self.slack.get(family, sorted(self.slack.values())[len(self.slack) // 2])


@cache
def stored() -> Coefficients:
    """Return the memory model's coefficients that are shipped with the package."""
    return from_table(coefficients("memory"))


def from_table(table: Mapping[str, Any]) -> Coefficients:
    """Build `Coefficients` from a table; keys that start with an underscore are remarks and are ignored."""
    return Coefficients(**{key: value for key, value in table.items() if not key.startswith("_")})


MIB = 2.0**20
CUBLAS = 2 * 32 * MIB  # PyTorch's cuBLAS workspace on Hopper (:4096:8), one per thread: forward, backward
ENGINE, ENGINE_BEFORE_HOPPER = 32 * MIB, 4 * MIB  # Transformer Engine's workspace per stream
ENGINE_STREAMS = 4  # of its grouped GEMM of experts, each with a workspace
SMALL = ("Pascal", "Volta", "Turing", "Ampere", "Ada")
NCCL_BUFFER = 4 * MIB  # default of NCCL_BUFFSIZE; one to send and one to receive per channel
NCCL_CHANNELS = 16  # of a communicator within an NVLink node, from NCCL's log on A100 and H100 nodes


def workspace(run: Run, fitted: Coefficients) -> Real:
    """Return the bytes within the allocator: workspaces of cuBLAS and Transformer Engine, and a fitted rest.

    The fitted rest is masks and batches of samples.
    """
    engine = ENGINE_BEFORE_HOPPER if run.machine.gpu.arch in SMALL else ENGINE
    grouped = run.training.architecture.experts and run.training.grouped_experts
    streams = ENGINE_STREAMS if grouped else 0
    return CUBLAS + engine * (1 + streams) + fitted.rest


def outside(run: Run, fitted: Coefficients) -> Real:
    """Return the bytes outside the allocator: the CUDA context, and NCCL buffers of all communicators."""
    return fitted.context + 2 * NCCL_BUFFER * NCCL_CHANNELS * communicators(run.layout)


def communicators(layout: Layout) -> Real:
    """Return the number of NCCL communicators of a rank: one each for dp x cp, tp, pp, cp and ep, where above 1."""
    number: Real = 0.0
    for degree in (layout.dp * layout.cp, layout.tp, layout.pp, layout.cp, layout.ep):
        number = number + pick(degree > 1, 1.0, 0.0)
    return number
