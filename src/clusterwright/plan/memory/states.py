"""Bytes of weights, gradients and optimizer states on one GPU, after sharding by ZeRO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterwright.plan.memory.activations import element
from clusterwright.plan.memory.stage import FLAT, TORCH, deepspeed, microbatches, pipelined
from clusterwright.plan.numbers import larger, pick, smaller
from clusterwright.plan.parameters import lora

if TYPE_CHECKING:
    from clusterwright.plan.memory.stage import StageParameters
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Layout, Run, Training

FSDP2_SINCE = 2024  # `fully_shard` of PyTorch 2.4
BUCKET = 5e8  # elements of a DeepSpeed reduce bucket, its default; two are in flight
# bytes per parameter besides the fp32 master copy: moments in fp32, in 8 bits (Dettmers 2110.02861), momentum only
MOMENTS = {"adam": 8.0, "adamw": 8.0, "adam8bit": 2.0, "sgd": 4.0, "muon": 4.0}
# bytes per parameter of the low-precision copies beside the weights: row-wise and column-wise
LOW_PRECISION_BYTES = {"fp8": 2.0, "mxfp8": 2.0 + 2 / 32, "nvfp4": 1.0 + 2 / 16}


@dataclass(frozen=True, slots=True)
class States:
    """Bytes of weights, gradients and optimizer states on one GPU."""

    weights: Real
    gradients: Real
    optimizer: Real


def states(run: Run, parameters: StageParameters) -> States:
    """Compute the model state bytes of a GPU: dense parameters and experts, each over its data-parallel group."""
    dense = _state_bytes(run, parameters.dense, parameters.matrices, shards(run.layout))
    expert = _state_bytes(run, parameters.expert, parameters.expert, expert_shards(run.layout))
    return States(
        weights=dense.weights + expert.weights,
        gradients=dense.gradients + expert.gradients,
        optimizer=dense.optimizer + expert.optimizer,
    )


def shards(layout: Layout) -> Real:
    """Return the number of GPUs over which ZeRO shards one copy of the dense parameters."""
    return pick(layout.shard > 0, layout.shard, layout.dp * layout.cp)


def expert_shards(layout: Layout) -> Real:
    """Return the number of GPUs over which ZeRO shards one copy of an expert.

    They are fewer than those of the dense parameters, because ep x etp GPUs hold different experts.
    """
    return larger(shards(layout) * layout.tp / (layout.ep * layout.etp), 1)


def _state_bytes(run: Run, count: Real, matrices: Real, shard: Real) -> States:
    work, layout = run.training, run.layout
    weight, gradient, optimizer = per_parameter(run)
    trained = count * (lora(work.architecture) if work.task == "lora" else 1.0)
    second = (
        4.0 * (count - matrices) * (work.optimizer == "muon")
    )  # Muon: parameters other than matrices use Adam
    # ZeRO-3 creates the low-precision copies layer by layer
    low = pick((layout.zero >= 3) | pipelined(run), 0.0, _low_precision_bytes(work) * matrices)
    weights = (weight * count - 2.0 * work.fp8_parameters * matrices) / pick(layout.zero >= 3, shard, 1) + low
    gathered_bytes = pick(layout.zero >= 3, element(work) * count, 2.0 * work.low_states * count / shard)
    gathered = pick(pipelined(run), gathered_bytes, 0.0)  # gathered weights besides their shard
    gradient_shards = pick(layout.zero >= 2, pick(has_full_gradients(run), 1, shard), 1)
    return States(
        weights=(weights + gathered) * (1 - 1.0 * (layout.offload >= 2)),
        gradients=pick(has_full_gradients(run), _unsharded(run, gradient), gradient)
        * trained
        / gradient_shards,
        optimizer=(optimizer * trained + second)
        / pick(layout.zero >= 1, shard, 1)
        * (1 - 1.0 * (layout.offload >= 1)),
    )


def has_full_gradients(run: Run) -> Any:
    """True where FSDP accumulates unsharded gradients over several microbatches."""
    several = microbatches(run.training, run.layout) > 1
    return (run.stack.family in TORCH) & (run.layout.zero >= 2) & run.training.unsharded_gradients & several


def _unsharded(run: Run, gradient: Real) -> Real:
    """Return the bytes per unsharded gradient: FSDP2 accumulates in fp32, its reduce precision.

    FSDP1 in the layers' precision.
    """
    return 4.0 if run.stack.year >= FSDP2_SINCE else smaller(gradient, 2.0)


def per_parameter(run: Run) -> tuple[Real, Real, Real]:
    """Return bytes per parameter as (weight, gradient, optimizer states with the fp32 copy if there is one).

    Without sharding: ZeRO does not divide them.
    """
    work, moments = run.training, MOMENTS[run.training.optimizer]
    if element(work) == 4:
        return 4.0, 4.0, moments
    if work.low_states:
        return 2.0, 2.0, max(2.0, moments / 2)
    flat = (run.stack.family in FLAT) & (run.layout.zero >= 3)
    return (pick(flat, 4.0, 2.0), pick(flat, 4.0, float(work.gradient_bytes)), moments + pick(flat, 0.0, 4.0))


def engine(run: Run, parameters: StageParameters) -> Real:
    """Return the bytes of DeepSpeed besides the states: reduce buckets and copies of gradients; 0 for other software.

    In bf16 the layers' gradients remain besides the fp32 accumulators; in fp16 the shard of the step is flattened
    and copied to fp32 (`bf16_optimizer.py`, `stage_1_and_2.py` of DeepSpeed).
    """
    work, count = run.training, parameters.dense + parameters.expert
    bucket = 2 * work.gradient_bytes * smaller(count, BUCKET)
    gradient_copies = pick(work.gradient_bytes > 2, 2.0 * count, 6.0 * count / shards(run.layout))
    engine_bytes = bucket + pick((run.layout.zero < 3) & (run.layout.offload < 1), gradient_copies, 0.0)
    return pick(deepspeed(run), engine_bytes, 0.0)


def _low_precision_bytes(work: Training) -> float:
    return LOW_PRECISION_BYTES.get(work.precision, 0.0)
