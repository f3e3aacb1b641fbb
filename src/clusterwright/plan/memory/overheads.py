"""What no tensor of the model explains: workspaces of libraries, the CUDA context, buffers of NCCL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.plan.numbers import pick

if TYPE_CHECKING:
    from clusterwright.plan.memory.coefficients import Coefficients
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Layout, Run

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


def communicators(cut: Layout) -> Real:
    """Groups of ranks that one rank talks in: one per degree above 1."""
    number: Real = 0.0
    for degree in (cut.dp * cut.cp, cut.tp, cut.pp, cut.cp, cut.ep):
        number = number + pick(degree > 1, 1.0, 0.0)
    return number
