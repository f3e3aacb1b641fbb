"""Priors of the time model's coefficients, with spread, limit and source."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prior:
    """A prior: `spread` 0.1 means that two thirds of such coefficients are within 10%."""

    value: float
    spread: float
    most: float = math.inf

    def at(self, deviations: float) -> float:
        """Return the coefficient this many deviations from the prior's guess, at most `most`."""
        return min(self.value * math.exp(self.spread * deviations), self.most)


PRIOR = {
    # Large products over the best one ever measured (MAMF tables): a step is not a search for the best shape.
    "matmul": Prior(0.95, 1e-6),
    "matmul.16.Volta": Prior(0.9, 0.1),
    "matmul.16.Ampere": Prior(0.95, 0.05),
    "matmul.16.Hopper": Prior(0.92, 0.06),
    "matmul.16.Blackwell": Prior(0.85, 0.1),
    "matmul.8.Hopper": Prior(0.9, 0.07),
    "matmul.8.Blackwell": Prior(0.9, 0.07),
    "matmul.4.Blackwell": Prior(0.7, 0.2),
    # What one GPU's own clocks and power make of its generation's factor.
    "gpu": Prior(1.0, 1e-6),
    "gpu.h100-sxm-96gb": Prior(0.87, 0.05),  # 500 W for 700: clocks go with about the 0.4th power
    "gpu.h100-pcie-80gb": Prior(0.8, 0.05),  # 350 W, so lower clocks too
    "gpu.a100-sxm-40gb": Prior(1.0, 0.03),
    "gpu.h200-sxm-141gb": Prior(1.0, 0.03),
    "gpu.b200-sxm-180gb": Prior(1.0, 0.03),
    "gpu.gb200": Prior(1.0, 0.03),
    "gpu.gb300": Prior(1.08, 0.05),
    "gpu.b300-sxm-288gb": Prior(1.0, 0.04),
    "flash": Prior(0.65, 1e-6),  # over the same; figures of 2307.08691 (A100) and 2407.08608 (H100)
    "flash.Ampere": Prior(0.6, 0.2),
    "flash.Hopper": Prior(0.7, 0.12),
    "flash.Hopper.fsdp.2022": Prior(0.4, 0.2),  # FlashAttention 1 and 2, written for Ampere (2407.08608)
    "flash.Blackwell": Prior(0.75, 0.1),
    "flash_backward": Prior(0.85, 0.1),
    "stream": Prior(0.85, 0.06),  # STREAM-like copies reach 85 to 92% of the datasheet
    "depth": Prior(150, 0.3),
    "depth.Hopper": Prior(250, 0.4),
    "depth.Blackwell": Prior(600, 0.4),
    "wave": Prior(0.5, 0.3, 1.0),
    "misaligned": Prior(12, 0.4),  # tensor cores off: 312 against 19.5 x 4 TFLOP/s (A100)
    "unaligned": Prior(1.15, 0.05),
    "accumulate": Prior(1.0, 0.1),  # fused into the product's last step
    "accumulate.megatron.2020": Prior(
        1.75, 0.3
    ),  # product written, read, added (fp16: 2 + 2 + 2 + 2 over 4 bytes)
    "accumulate.fsdp": Prior(1.5, 0.3),
    "launch": Prior(3e-6, 0.3),
    "launch.megatron.2020.deepspeed": Prior(3e-5, 0.5),
    "launch.megatron.2020": Prior(4e-6, 0.5),
    "launch.megatron.2025": Prior(6e-6, 0.4),
    "launch.fsdp.2022": Prior(4e-6, 0.5),
    "elementwise": Prior(1.8, 0.15),
    "elementwise.megatron.2020": Prior(1.2, 0.3),
    "elementwise.fsdp.2022": Prior(1.5, 0.3),
    "elementwise.fsdp.2025": Prior(1.2, 0.3),
    "elementwise.deepspeed": Prior(1.5, 0.4),
    "quantize.fp8": Prior(1.0, 0.4),
    "quantize.mxfp8": Prior(1.2, 0.4),
    "quantize.nvfp4": Prior(2.5, 0.4),
    "expert_traffic": Prior(1.5, 0.4),
    "imbalance": Prior(1.1, 0.05),
    "tensor_exposed": Prior(0.4, 0.4, 1.0),
    "tensor_exposed.megatron.2020": Prior(1.0, 0.2, 1.0),
    "context_exposed": Prior(0.2, 0.5, 1.0),
    "expert_exposed": Prior(0.8, 0.4, 1.0),
    "pipeline_exposed": Prior(0.4, 0.5, 1.0),
    "pipeline_exposed.megatron.2020": Prior(1.0, 0.3),
    "pipeline_exposed.megatron.2020.deepspeed": Prior(1.0, 0.2),
    "data_exposed": Prior(0.2, 0.5, 1.0),
    "data_exposed.megatron.2020": Prior(1.0, 0.3),
    "data_exposed.deepspeed": Prior(
        0.6, 0.3, 1.0
    ),  # updated weights are gathered after the step, beneath nothing
    "sharded": Prior(0.9, 0.1),
    "sharded.deepspeed.2021": Prior(0.6, 0.3),
    "interference": Prior(0.3, 0.5, 1.0),
    "interference.deepspeed.2021": Prior(0.9, 0.2, 1.0),  # prefetching came later
    "interference.deepspeed": Prior(0.4, 0.5, 1.0),
    "host_step": Prior(2.5e-9, 0.3),
    "fixed": Prior(0.04, 0.7),
    "fixed.megatron.2020": Prior(0.03, 0.7),
    "fixed.fsdp.2022": Prior(0.03, 0.7),
    "jitter": Prior(0.003, 0.7),
    "jitter.megatron.2020": Prior(0.005, 0.5),
    # Whole families and eras, for what the other coefficients do not explain: near 1.
    "stack": Prior(1.0, 1e-6),
    "stack.megatron.2020": Prior(1.0, 0.05),
    "stack.megatron.2020.deepspeed": Prior(1.1, 0.04),
    "stack.megatron.2024": Prior(1.0, 0.03),
    "stack.megatron.2025": Prior(1.0, 0.05),
    "stack.fsdp.2022": Prior(1.0, 0.05),
    "stack.fsdp.2025": Prior(1.0, 0.05),
    "stack.deepspeed.2021": Prior(1.05, 0.1),
    "stack.deepspeed.2025": Prior(1.05, 0.1),
    "stack.maxtext.2024": Prior(1.0, 0.08),
    "stack.nemo-automodel.2025": Prior(1.1, 0.15),
}
