"""What is planned: a training, cut in a certain way, on certain machines, by a certain software stack."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture, Gpu
    from clusterwright.plan.numbers import Real


class Recompute(IntEnum):
    """What is computed again in the backward pass instead of kept (Korthikanti et al. 2205.05198)."""

    NONE = 0
    SELECTIVE = 1  # the core of attention only
    FULL = 2  # every layer, from its input


class Offload(IntEnum):
    """What lives in the host's memory instead of the GPU's."""

    NONE = 0
    OPTIMIZER = 1
    ALL = 2  # optimiser states and weights


class Schedule(StrEnum):
    """How a pipeline orders its microbatches."""

    AFAB = "afab"
    ONE_F_ONE_B = "1f1b"  # interleaved when Layout.interleave > 1
    ZB_H1 = "zb-h1"
    ZB_H2 = "zb-h2"
    ZB_V = "zb-v"
    DUALPIPE = "dualpipe"


@dataclass(frozen=True, slots=True)
class Training:
    """The work, whatever it runs on."""

    architecture: Architecture
    seq_len: int  # tokens
    global_batch: int  # sequences
    precision: str = "bf16"  # of the matrix products: fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4
    task: str = "pretrain"  # pretrain, sft, lora
    optimizer: str = "adam"  # adam, adam8bit, sgd
    gradient_bytes: int = 4  # of one element of the accumulated gradient: 4 or 2
    flash_attention: bool = True
    dropout: bool = False
    fused_loss: bool = False  # the loss in chunks, the logits never held whole (Liger, cut cross-entropy)
    grouped_experts: bool = True  # products of all experts of a GPU in one call
    logit_bytes: float = 0.0  # held of one logit while the loss is computed; 0: as the software family does
    fp8_parameters: bool = False  # weights held in fp8 alone, without their copy in bf16
    low_states: bool = False  # weights, gradients and moments all in 2 bytes, no fp32 copy
    unsharded_gradients: bool = (
        False  # FSDP adds up microbatches unsharded, reduced after the last (`no_sync`)
    )
    step_bytes: float = 0.0  # of a parameter, held while the optimiser steps and no activation is there


@dataclass(frozen=True, slots=True)
class Layout:
    """How the model is cut. GPUs = dp x cp x tp x pp. Numbers, or equally shaped arrays of many layouts."""

    dp: Real = 1  # data-parallel replicas
    tp: Real = 1
    pp: Real = 1
    cp: Real = 1
    ep: Real = 1  # experts are spread over ep GPUs out of dp x cp x tp
    etp: Real = 1  # tensor parallelism inside one expert
    interleave: Real = 1  # model chunks of one pipeline stage (virtual stages)
    micro_batch: Real = 1  # sequences in one microbatch of one replica
    zero: Real = 1  # ZeRO stage 0-3; 3 is FSDP's full shard
    shard: Real = 0  # GPUs that share one copy of what ZeRO cuts; 0: all dp x cp (less: HSDP)
    recompute: Real = Recompute.SELECTIVE
    sequence_parallel: Real = 1  # 0 or 1; of no effect at tp 1
    offload: Real = Offload.NONE
    schedule: Schedule = Schedule.ONE_F_ONE_B
    recompute_modules: tuple[str, ...] = (
        "core_attn",
    )  # what selective recomputation covers, Megatron-Core's names

    @property
    def gpus(self) -> Real:
        """How many GPUs it takes."""
        return self.dp * self.cp * self.tp * self.pp


@dataclass(frozen=True, slots=True)
class Network:
    """What joins the nodes."""

    kind: str = "infiniband"  # infiniband, roce, ethernet, omnipath, none
    nics: float = 8  # per node
    nic_bytes_per_s: float = 50e9  # of one port, one direction
    latency_s: float = 5e-6  # one step of a collective between nodes
    oversubscription: float = 1.0  # 1: full bisection; 2: half of it
    name: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The GPUs and what joins them."""

    gpu: Gpu
    gpus: int
    gpus_per_node: int = 8
    nvlink_domain: int = 8  # GPUs that NVLink joins: of one node, or of a rack (NVL72: 72)
    network: Network = field(default_factory=Network)


@dataclass(frozen=True, slots=True)
class Stack:
    """The software; efficiency is fitted per family and era, never per run."""

    family: str = "megatron"  # megatron, megatron-deepspeed, fsdp, deepspeed, maxtext, nemo-automodel
    year: int = 2025


@dataclass(frozen=True, slots=True)
class Run:
    """One run to predict."""

    training: Training
    layout: Layout
    machine: Machine
    stack: Stack = field(default_factory=Stack)
