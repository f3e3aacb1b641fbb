"""The record types of the catalog: GPUs, model architectures, other parts of a cluster, prices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. Rates are dense (no sparsity), in FLOP/s and bytes/s, one direction; 0: unknown.

    `memory_bytes` is the vendor's figure with decimal GB. High-bandwidth memory sold as 80 GB holds 80 GiB,
    so what a program gets (`usable_bytes`: the capacity in PyTorch's out-of-memory errors) may be more.
    """

    name: str  # h100-sxm-80gb
    peak: dict[str, float]  # precision -> FLOP/s: fp32, tf32, fp16, bf16, fp8, fp4
    memory_bytes: float
    memory_bytes_per_s: float
    link_bytes_per_s: float = 0.0  # to all GPUs of the node over NVLink or the like; 0 for a bridge of two
    power_w: float = 0.0
    achieved: dict[str, float] | None = None  # precision -> best measured matrix product, FLOP/s
    vendor: str = ""
    arch: str = ""
    form: str = ""
    pcie_gen: int = 0
    source: str = ""
    usable_bytes: float = 0.0  # what CUDA offers a program; default: memory_bytes

    def __post_init__(self) -> None:
        if not self.usable_bytes:
            object.__setattr__(self, "usable_bytes", self.memory_bytes)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A transformer. Widths in elements; 0 where a part is absent."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int  # not always hidden / heads
    ffn: int  # of a dense layer
    vocab: int
    gated: bool = True  # SwiGLU or GeGLU: three matrices in place of two
    tied: bool = False  # the output matrix is the embedding
    learned_positions: int = 0  # length of a learned position table
    causal: bool = True
    biases: bool = False
    attention: str = "gqa"  # gqa (mha and mqa are its extremes) or mla
    kv_lora_rank: int = 0  # mla
    q_lora_rank: int = 0
    rope_head_dim: int = 0
    v_head_dim: int = 0
    window: int = 0  # sliding-window attention
    window_every: int = 0  # one in so many layers is full attention, the others windowed; 0: all are windowed
    experts: int = 0
    experts_per_token: int = 0
    expert_ffn: int = 0
    shared_ffn: int = 0  # of the shared expert
    dense_layers: int = 0  # leading layers without experts
    mtp_layers: int = 0
    mamba_layers: int = 0  # layers that are state-space mixers instead of attention
    attention_layers: int = -1  # -1: all
    mamba_heads: int = 0  # of one mixer; 0: as many heads of 64 as twice the width holds (Mamba-2)
    mamba_head_dim: int = 0
    mamba_state: int = 0  # width of the state; 0: 128
    expert_width: int = 0  # input width of the experts, if they are behind a projection; 0: hidden
    source: str = ""


@dataclass(frozen=True, slots=True)
class Cpu:
    """One CPU model."""

    name: str
    cores: int  # of one socket
    threads_per_core: int  # hardware threads, as Slurm's ThreadsPerCore
    source: str = ""

    @property
    def threads(self) -> int:
        """Number of hardware threads of one socket with this CPU."""
        return self.cores * self.threads_per_core


@dataclass(frozen=True, slots=True)
class Nic:
    """One network card."""

    name: str
    protocols: tuple[str, ...]  # infiniband, ethernet (RoCE too), omnipath
    ports: int
    port_bits_per_s: float
    pcie_gen: int = 0
    power_w: float = 0.0  # 0: unknown
    vendor: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """One model of switch."""

    name: str
    protocol: str  # infiniband, ethernet
    ports: int
    port_bits_per_s: float
    latency_s: float = 0.0  # port to port; 0: unknown
    power_w: float = 0.0  # typical, without optics; 0: unknown
    vendor: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Cable:
    """A class of cable for one rate: copper (DAC), active optical (AOC), or two transceivers and a fiber (SR, DR)."""

    name: str
    medium: str
    bits_per_s: float
    reach_m: float
    end_power_w: float = 0.0  # drawn at each end
    source: str = ""


@dataclass(frozen=True, slots=True)
class Storage:
    """A drive, or one server of a storage system."""

    name: str
    kind: str  # drive, system
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float = 0.0  # of 4 KiB, random
    latency_s: float = 0.0
    capacity_bytes: float = 0.0  # 0: depends on the number of drives
    power_w: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """A whole node, or a rack where GPUs are sold by the rack; its parts by their catalog names."""

    name: str
    scenario: str  # training, science, inference
    gpu: str
    gpus: int
    cpu: str
    cpus: int
    cores: int  # of all CPUs
    memory_bytes: float
    drives: int
    drive: str
    nic: str  # of the compute network
    nics: int
    power_w: float  # under load
    height_u: int = 0
    source: str = ""


class Deal(StrEnum):
    """The way to buy or rent an item."""

    OWNED = "owned"
    ON_DEMAND = "on-demand"
    RESERVED = "reserved"  # for about a year
    SPOT = "spot"  # can be preempted


@dataclass(frozen=True, slots=True)
class Price:
    """Low <= likely <= high of one item. `quality` is list, survey, index or estimate."""

    item: str  # a catalog name, or electricity (a kWh) or colocation (a kW and month)
    deal: Deal
    per: str  # GPU, server, switch, cable, NIC, drive, GPU-hour, kWh, kW-month
    low: float
    likely: float
    high: float
    currency: str
    date: str  # YYYY-MM or YYYY-MM-DD
    quality: str = "own"
    source: str = ""


@dataclass(frozen=True, slots=True)
class CloudPrice:
    """The price of one instance type of a cloud in one region, per hour."""

    cloud: str
    region: str
    instance: str
    gpu: str
    gpus: int
    deal: Deal
    per_hour: float  # of the instance
    currency: str
    date: str  # YYYY, YYYY-MM or YYYY-MM-DD
    source: str = ""

    @property
    def per_gpu_hour(self) -> float:
        """Price of one GPU of the instance for one hour, in the currency of the row."""
        return self.per_hour / self.gpus


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """Units of `quote` for one unit of `base`, on a day."""

    base: str
    quote: str
    rate: float
    date: str = ""
    source: str = ""
