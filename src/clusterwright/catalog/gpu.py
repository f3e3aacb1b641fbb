"""GPUs: peak rates, memory, links, power; one row of data/gpus.csv each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. Rates are dense (no sparsity), in FLOP/s and bytes/s, one direction; 0: not known."""

    name: str  # h100-sxm-80gb
    peak: dict[str, float]  # precision -> FLOP/s: fp32, tf32, fp16, bf16, fp8, fp4
    memory_bytes: float
    memory_bytes_per_s: float
    link_bytes_per_s: float = 0.0  # NVLink or the like, all links of one GPU
    power_w: float = 0.0
    achieved: dict[str, float] | None = None  # precision -> best measured matrix product, FLOP/s
    vendor: str = ""
    arch: str = ""
    form: str = ""
    pcie_gen: int = 0
    source: str = ""
