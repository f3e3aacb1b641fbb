"""What every coefficient of the time model is before a run was seen, how far it may go, and where that comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prior:
    """A guess with its spread: `spread` 0.1 says that two thirds of such coefficients lie within 10%."""

    value: float
    spread: float
    most: float = math.inf

    def at(self, deviations: float) -> float:
        """The coefficient so many deviations from the guess; never above `most`."""
        return min(self.value * math.exp(self.spread * deviations), self.most)


PRIOR = {
    # Large products over the best one ever measured (MAMF tables): a step is not a search for the best shape.
    "matmul": Prior(0.95, 1e-6),
    "matmul.16.Volta": Prior(0.9, 0.1),
    "matmul.16.Ampere": Prior(0.95, 0.05),
    "matmul.16.Hopper": Prior(0.92, 0.06),
    "matmul.16.Blackwell": Prior(0.9, 0.08),
    "matmul.8.Hopper": Prior(0.85, 0.1),
    "matmul.8.Blackwell": Prior(0.85, 0.1),
    "matmul.4.Blackwell": Prior(0.7, 0.2),
    "flash": Prior(0.65, 1e-6),  # over the same; figures of 2307.08691 (A100) and 2407.08608 (H100)
    "flash.Ampere": Prior(0.6, 0.2),
    "flash.Hopper": Prior(0.65, 0.2),
    "flash.Blackwell": Prior(0.65, 0.2),
    "flash_backward": Prior(0.85, 0.1),
    "stream": Prior(0.85, 0.06),  # STREAM-like copies reach 85 to 92% of the datasheet
    "depth": Prior(150, 0.5),
    "wave": Prior(0.5, 0.4, 1.0),
    "misaligned": Prior(12, 0.4),  # tensor cores off: 312 against 19.5 x 4 TFLOP/s (A100)
    "launch": Prior(3e-6, 0.5),
    "launch.megatron.2020": Prior(4e-6, 0.5),
    "launch.megatron.2025": Prior(2e-6, 0.5),
    "launch.fsdp.2022": Prior(4e-6, 0.5),
    "elementwise": Prior(1.1, 0.2),
    "elementwise.megatron.2020": Prior(1.2, 0.3),
    "elementwise.fsdp.2022": Prior(1.5, 0.3),
    "elementwise.fsdp.2025": Prior(1.2, 0.3),
    "elementwise.deepspeed": Prior(1.5, 0.4),
    "quantize.fp8": Prior(1.0, 0.4),
    "quantize.mxfp8": Prior(1.2, 0.4),
    "quantize.nvfp4": Prior(1.5, 0.4),
    "expert_traffic": Prior(1.5, 0.4),
    "imbalance": Prior(1.1, 0.05),
    "tensor_exposed": Prior(0.4, 0.4, 1.0),
    "tensor_exposed.megatron.2020": Prior(1.0, 0.2),
    "context_exposed": Prior(0.2, 0.5, 1.0),
    "expert_exposed": Prior(0.8, 0.4, 1.0),
    "pipeline_exposed": Prior(0.4, 0.5, 1.0),
    "pipeline_exposed.megatron.2020": Prior(1.0, 0.3),
    "data_exposed": Prior(0.2, 0.5, 1.0),
    "data_exposed.megatron.2020": Prior(1.0, 0.3),
    "interference": Prior(0.15, 0.5, 1.0),
    "interference.deepspeed": Prior(0.4, 0.5, 1.0),
    "host_step": Prior(2.5e-9, 0.3),
    "fixed": Prior(0.02, 0.7),
    "fixed.megatron.2020": Prior(0.03, 0.7),
    "fixed.fsdp.2022": Prior(0.03, 0.7),
    "jitter": Prior(0.003, 0.7),
    "jitter.megatron.2020": Prior(0.003, 0.7),
    # Whole families and eras, when all of the above is said: near 1.
    "stack": Prior(1.0, 1e-6),
    "stack.megatron.2020": Prior(1.0, 0.05),
    "stack.megatron.2023": Prior(1.0, 0.03),
    "stack.megatron.2025": Prior(1.0, 0.05),
    "stack.fsdp.2022": Prior(1.0, 0.05),
    "stack.fsdp.2025": Prior(1.0, 0.05),
    "stack.deepspeed.2021": Prior(1.05, 0.1),
    "stack.deepspeed.2025": Prior(1.05, 0.1),
    "stack.maxtext.2024": Prior(1.0, 0.08),
    "stack.nemo-automodel.2025": Prior(1.1, 0.15),
}
