"""What no tensor of the model explains, fitted on published peaks by `bench/accuracy/fit_memory.py`."""

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
    """All of them; bytes, or shares of one."""

    rest: float  # inside the allocator, of every run: masks, batches, what is rounded up
    imbalance: float  # tokens of the fullest experts' GPU over the average
    slack: Mapping[str, float]  # by family: reserved beyond allocated, a share of allocated
    context: float  # CUDA context with its libraries, outside the allocator
    typical: float  # median of |predicted / measured - 1| on sources held out
    spread: float  # what three of four of them stay within

    def slack_of(self, family: str) -> float:
        """Of that family; of one that was never measured, the middle one."""
        return self.slack.get(family, sorted(self.slack.values())[len(self.slack) // 2])


@cache
def stored() -> Coefficients:
    """What the package was shipped with."""
    return from_table(coefficients("memory"))


def from_table(table: Mapping[str, Any]) -> Coefficients:
    """From the stored table; keys that start with an underscore are remarks."""
    return Coefficients(**{key: value for key, value in table.items() if not key.startswith("_")})


MIB = 2.0**20
CUBLAS = 2 * 32 * MIB  # PyTorch's workspace on Hopper (:4096:8), one of each thread: forward's, backward's
ENGINE, ENGINE_BEFORE_HOPPER = 32 * MIB, 4 * MIB  # Transformer Engine's workspace of one stream
ENGINE_STREAMS = 4  # on which its grouped products of experts run, a workspace each
SMALL = ("Pascal", "Volta", "Turing", "Ampere", "Ada")
NCCL_BUFFER = 4 * MIB  # NCCL_BUFFSIZE, its default; one to send and one to receive in each channel
NCCL_CHANNELS = (
    16  # of a communicator inside an NVLink node, as NCCL's log of an A100 or H100 node counts them
)


def workspace(run: Run, fitted: Coefficients) -> Real:
    """Inside the allocator: workspaces of matrix products, and a fitted rest (masks, batches, rounding)."""
    engine = ENGINE_BEFORE_HOPPER if run.machine.gpu.arch in SMALL else ENGINE
    grouped = run.training.architecture.experts and run.training.grouped_experts
    streams = ENGINE_STREAMS if grouped else 0
    return CUBLAS + engine * (1 + streams) + fitted.rest


def outside(run: Run, fitted: Coefficients) -> Real:
    """Outside the allocator: the CUDA context, and the buffers of each communicator."""
    return fitted.context + 2 * NCCL_BUFFER * NCCL_CHANNELS * communicators(run.layout)


def communicators(layout: Layout) -> Real:
    """Groups of ranks that one rank talks in: one per degree above 1."""
    number: Real = 0.0
    for degree in (layout.dp * layout.cp, layout.tp, layout.pp, layout.cp, layout.ep):
        number = number + pick(degree > 1, 1.0, 0.0)
    return number
