"""GPUs: peak rates, memory, links, power; one row of data/gpus.csv each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. Rates are dense (no sparsity), in FLOP/s and bytes/s, one direction; 0: not known.

    `memory_bytes` is the vendor's figure with decimal GB. High-bandwidth memory sold as 80 GB holds 80 GiB,
    so what a program gets (`usable_bytes`: the capacity that PyTorch's out-of-memory errors print) may be more.
    """

    name: str  # h100-sxm-80gb
    peak: dict[str, float]  # precision -> FLOP/s: fp32, tf32, fp16, bf16, fp8, fp4
    memory_bytes: float
    memory_bytes_per_s: float
    link_bytes_per_s: float = 0.0  # to all GPUs of the node over NVLink or the like; a bridge of two: 0
    power_w: float = 0.0
    achieved: dict[str, float] | None = None  # precision -> best measured matrix product, FLOP/s
    vendor: str = ""
    arch: str = ""
    form: str = ""
    pcie_gen: int = 0
    source: str = ""
    usable_bytes: float = 0.0  # what CUDA offers a program; memory_bytes where it was never read

    def __post_init__(self) -> None:
        if not self.usable_bytes:
            object.__setattr__(self, "usable_bytes", self.memory_bytes)
