"""Fitted coefficients of the speed model, and the `Rates` of one run that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.parameters import lora

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.catalog.records import Gpu
    from clusterwright.plan.run import Run

# Years in which the performance of a family changed: 2024 brought Transformer Engine's kernels and overlapped
# communication to most Megatron runs, 2025 a second round (CUDA graphs, fused kernels of experts).
ERAS = {
    "megatron": (2020, 2024, 2025),
    "fsdp": (2022, 2025),
    "deepspeed": (2021, 2025),
    "maxtext": (2024,),
    "nemo-automodel": (2025,),
}
# Tensors of a GPT layer (4 weights, 4 biases, 2 norms of 2), each gathered separately in DeepSpeed's ZeRO-3 of 2021,
# so that the latency of a ring over all GPUs counts as often; others gather a layer at once.
GATHERS = {"deepspeed.2021": 12}
DEDUPLICATED_SINCE = (
    2025  # a token is sent to a node once, however many experts it uses there (DeepEP, HybridEP)
)
# Streaming multiprocessors (NVIDIA white papers of each generation); default: Hopper's.
PROCESSORS = {"Volta": 80, "Turing": 72, "Ampere": 108, "Ada": 142, "Hopper": 132, "Blackwell": 148}
# Best matrix product over peak, by bits, if the catalog has no measurement (median of its other rows).
ACHIEVED = {16: 0.80, 8: 0.73, 4: 0.65, 32: 0.80}
RECIPES = {"fp8": "fp8", "mxfp8": "mxfp8", "nvfp4": "nvfp4", "fp4": "nvfp4"}
BITS = {"fp32": 32, "tf32": 32, "fp16": 16, "bf16": 16, "fp8": 8, "mxfp8": 8, "nvfp4": 4, "fp4": 4}


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Coefficients by dotted name, such as `launch.megatron.2023`, with fallback to the parents of a name."""

    values: Mapping[str, float]

    def get(self, name: str, *path: str) -> float:
        """Return the most specific value: of `name.path`, else of a shorter path, else of `name`.

        Raises:
            KeyError: not even `name` has a value.
        """
        for end in range(len(path), -1, -1):
            key = ".".join((name, *path[:end]))
            if key in self.values:
                return self.values[key]
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Rates:
    """Effective rates and coefficients of one run's machine and software; `meaning.py` explains each with its unit."""

    peak: float
    matmul: float
    matmul_16: float
    flash: float
    flash_backward: float
    bytes_per_s: float
    processors: int
    depth: float
    wave: float
    misaligned: float
    unaligned: float
    launch: float
    accumulate: float
    elementwise: float
    quantize: float
    bits: int
    expert_traffic: float
    imbalance: float
    tensor_exposed: float
    context_exposed: float
    expert_exposed: float
    pipeline_exposed: float
    data_exposed: float
    gathers: int
    deduplicated: bool
    sharded: float
    interference: float
    host_step: float
    fixed: float
    jitter: float
    trained: float = 1.0


def era(family: str, year: int) -> str:
    """Return the software era such as `megatron.2024`: family and first year; unknown families count as Megatron.

    Megatron-DeepSpeed is `megatron.2020.deepspeed` in any year.
    """
    if family == "megatron-deepspeed":  # Megatron's layers of 2021 with DeepSpeed's pipeline and ZeRO
        return "megatron.2020.deepspeed"
    family_name = family if family in ERAS else "megatron"
    begun = [start for start in ERAS[family_name] if start <= year] or [ERAS[family_name][0]]
    return f"{family_name}.{begun[-1]}"


def generation(gpu: Gpu) -> str:
    """Return the GPU generation, without variants: `Blackwell` of `Blackwell Ultra`; `Hopper` if unknown."""
    return gpu.arch.split(" ")[0] or "Hopper"


def peak(gpu: Gpu, precision: str) -> float:
    """Return dense peak FLOP/s of a precision from the datasheet; of the next wider one if the GPU lacks it.

    The highest of all rates if it has none of them; fp16 and bf16 replace each other, and fp32 ends at fp16.
    """
    wider = {"nvfp4": "fp4", "fp4": "fp8", "mxfp8": "fp8", "fp8": "bf16", "bf16": "fp16", "fp16": "bf16"}
    visited = []
    name = precision
    while name not in visited:
        if gpu.peak.get(name):
            return gpu.peak[name]
        visited.append(name)
        name = wider.get(name, "fp16")
    return max(gpu.peak.values())


def achieved(gpu: Gpu, precision: str) -> float:
    """Return FLOP/s of the best measured matrix product, or the usual share of peak if the catalog has no measurement.

    fp8 stands for mxfp8, and bf16 for fp16.
    """
    achieved_rates = gpu.achieved or {}
    for name in (precision, {"mxfp8": "fp8", "fp16": "bf16"}.get(precision, precision)):
        if achieved_rates.get(name):
            return achieved_rates[name]
    return peak(gpu, precision) * ACHIEVED[BITS.get(precision, 16)]


def rates(run: Run, c: Coefficients) -> Rates:
    """Compute the effective rates of a run, which depend on machine, precision and software, not on the layout."""
    gpu, precision = run.machine.gpu, run.training.precision
    chip, stack = generation(gpu), era(run.stack.family, run.stack.year)
    bits = BITS.get(precision, 16)
    speed = 1 / c.get("stack", *stack.split("."))
    speed *= c.get("gpu", gpu.name)
    half = speed * achieved(gpu, "bf16" if gpu.peak.get("bf16") else "fp16") * c.get("matmul", "16", chip)
    native = speed * achieved(gpu, precision) * c.get("matmul", str(bits), chip)
    path = stack.split(".")
    flash = half * c.get("flash", chip, *path)
    recipe = RECIPES.get(precision)
    return Rates(
        peak=peak(gpu, precision),
        matmul=half if bits == 16 else native,
        matmul_16=half,
        flash=flash,
        flash_backward=flash * c.get("flash_backward", chip),
        bytes_per_s=speed * gpu.memory_bytes_per_s * c.get("stream", chip),
        processors=PROCESSORS.get(chip, 132),
        depth=c.get("depth", chip),
        wave=c.get("wave"),
        misaligned=c.get("misaligned"),
        unaligned=c.get("unaligned"),
        launch=c.get("launch", *path),
        accumulate=c.get("accumulate", *path),
        elementwise=c.get("elementwise", *path),
        quantize=c.get("quantize", recipe) if recipe and bits < 16 else 0.0,
        bits=bits,
        expert_traffic=c.get("expert_traffic", *path),
        imbalance=c.get("imbalance"),
        tensor_exposed=c.get("tensor_exposed", *path),
        context_exposed=c.get("context_exposed"),
        expert_exposed=c.get("expert_exposed", *path),
        pipeline_exposed=c.get("pipeline_exposed", *path),
        data_exposed=c.get("data_exposed", *path),
        gathers=GATHERS.get(stack, 1),
        deduplicated=run.stack.year >= DEDUPLICATED_SINCE,
        sharded=c.get("sharded", *path),
        interference=c.get("interference", *path),
        host_step=c.get("host_step"),
        fixed=c.get("fixed", *path),
        jitter=c.get("jitter", *path),
        trained=lora(run.training.architecture) if run.training.task == "lora" else 1.0,
    )
