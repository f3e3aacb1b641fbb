"""The input of a prediction: training, parallel layout, machine and software stack."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture, Gpu
    from clusterwright.plan.numbers import Real


class Recompute(IntEnum):
    """Activation recomputation: what the backward pass computes again (Korthikanti et al. 2205.05198)."""

    NONE = 0
    SELECTIVE = 1  # core attention only
    FULL = 2  # every layer, from its input


class Offload(IntEnum):
    """CPU offload: what is stored in host memory instead of GPU memory."""

    NONE = 0
    OPTIMIZER = 1
    ALL = 2  # optimizer states and weights


class Schedule(StrEnum):
    """Pipeline schedule: the order of forward and backward passes of microbatches."""

    AFAB = "afab"
    ONE_F_ONE_B = "1f1b"  # interleaved when Layout.interleave > 1
    ZB_H1 = "zb-h1"
    ZB_H2 = "zb-h2"
    ZB_V = "zb-v"
    DUALPIPE = "dualpipe"


@dataclass(frozen=True, slots=True)
class Training:
    """The training itself: model, sequence length, batch, precision and optimizer, independent of hardware."""

    architecture: Architecture
    seq_len: int  # tokens
    global_batch: int  # sequences
    precision: str = "bf16"  # of the matrix products: fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4
    task: str = "pretrain"  # pretrain, sft, lora
    optimizer: str = "adam"  # adam, adam8bit, sgd
    gradient_bytes: int = 4  # of one element of the accumulated gradient: 4 or 2
    flash_attention: bool = True
    dropout: bool = False
    fused_loss: bool = False  # loss in chunks, the logits never stored whole (Liger, cut cross-entropy)
    grouped_experts: bool = True  # grouped GEMM: all experts of a GPU in one call
    logit_bytes: float = 0.0  # bytes per logit while the loss is computed; 0: as the software family does
    fp8_parameters: bool = False  # weights stored in fp8 only, without a bf16 copy
    low_states: bool = False  # weights, gradients and moments all in 2 bytes, no fp32 copy
    unsharded_gradients: bool = (
        False  # FSDP accumulates unsharded, reduces after the last microbatch (`no_sync`)
    )
    step_bytes: float = 0.0  # temporary bytes per parameter during the optimizer step


@dataclass(frozen=True, slots=True)
class Layout:
    """A parallel layout. GPUs = dp x cp x tp x pp. Fields are numbers, or arrays with one element per layout."""

    dp: Real = 1  # data-parallel replicas
    tp: Real = 1
    pp: Real = 1
    cp: Real = 1
    ep: Real = 1  # experts are spread over ep GPUs out of dp x cp x tp
    etp: Real = 1  # tensor parallelism inside one expert
    interleave: Real = 1  # model chunks of one pipeline stage (virtual stages)
    micro_batch: Real = 1  # sequences in one microbatch of one replica
    zero: Real = 1  # ZeRO stage 0-3; 3 is FSDP's full shard
    shard: Real = 0  # GPUs that one copy of what ZeRO shards is spread over; 0: all dp x cp (less: HSDP)
    recompute: Real = Recompute.SELECTIVE
    sequence_parallel: Real = 1  # 0 or 1; of no effect at tp 1
    offload: Real = Offload.NONE
    schedule: Schedule = Schedule.ONE_F_ONE_B
    recompute_modules: tuple[str, ...] = ("core_attn",)  # of selective recomputation, Megatron-Core's names

    @property
    def gpus(self) -> Real:
        """Number of GPUs of the layout: dp x cp x tp x pp."""
        return self.dp * self.cp * self.tp * self.pp


@dataclass(frozen=True, slots=True)
class Network:
    """The network between nodes: kind, ports per node, rate, latency and oversubscription."""

    kind: str = "infiniband"  # infiniband, roce, ethernet, omnipath, none
    nics: float = 8  # per node
    nic_bytes_per_s: float = 50e9  # of one port, one direction
    latency_s: float = 5e-6  # one step of a collective between nodes
    oversubscription: float = 1.0  # 1: full bisection; 2: half of it
    name: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The GPUs and their interconnect: node size, NVLink domain and network."""

    gpu: Gpu
    gpus: int
    gpus_per_node: int = 8
    nvlink_domain: int = 8  # GPUs that NVLink connects: of one node, or of a rack (NVL72: 72)
    network: Network = field(default_factory=Network)


@dataclass(frozen=True, slots=True)
class Stack:
    """The training software, by family and year; efficiency is fitted per family and era, never per run."""

    family: str = "megatron"  # megatron, megatron-deepspeed, fsdp, deepspeed, maxtext, nemo-automodel
    year: int = 2025


@dataclass(frozen=True, slots=True)
class Run:
    """One run to predict: training, layout, machine and software."""

    training: Training
    layout: Layout
    machine: Machine
    stack: Stack = field(default_factory=Stack)
