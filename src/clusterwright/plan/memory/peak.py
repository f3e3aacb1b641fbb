"""Peak memory of a GPU in each pipeline stage, and of the stage with the highest."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.i18n import N_
from clusterwright.plan.memory.activations import activation_bytes, border, tokens
from clusterwright.plan.memory.overheads import outside, stored, workspace
from clusterwright.plan.memory.stage import deepspeed, in_flight, pipelined, stage_at, stage_parameters
from clusterwright.plan.memory.states import states
from clusterwright.plan.memory.transients import stepping, transients
from clusterwright.plan.numbers import is_array, larger, pick, smaller
from clusterwright.plan.parameters import count
from clusterwright.plan.prediction import Memory

if TYPE_CHECKING:
    from clusterwright.catalog.records import Gpu
    from clusterwright.plan.memory.overheads import Coefficients
    from clusterwright.plan.memory.stage import MemoryStage
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run


def peak(run: Run, fitted: Coefficients | None = None) -> Memory:
    """Predict the peak memory of the GPU that uses most, in bytes: in the first, second or last stage.

    Stages between the second and the last use at most as much as the second. `fitted`: coefficients; default: those
    shipped with the package.
    """
    pp = run.layout.pp
    fullest = at_stage(run, 0, fitted)
    for index in _later(pp):
        fullest = _fuller(fullest, at_stage(run, index, fitted))
    return fullest


def peak_bytes(run: Run, fitted: Coefficients | None = None) -> Real:
    """Predict the total of `peak` in bytes without its parts, for many layouts at once."""
    pp = run.layout.pp
    most = at_stage(run, 0, fitted).total
    for index in _later(pp):
        most = larger(most, at_stage(run, index, fitted).total)
    return most


def _later(pp: Real) -> tuple[Real, ...]:
    """Indices of the second and last stage, as far as they differ from the first, 0; of arrays always both."""
    if is_array(pp):
        return smaller(1, pp - 1), pp - 1
    return tuple(sorted({1, int(pp) - 1} - {0})) if pp > 1 else ()


def stages(run: Run, fitted: Coefficients | None = None) -> tuple[Memory, ...]:
    """Predict peak memory of every pipeline stage of one layout, first to last."""
    return tuple(at_stage(run, index, fitted) for index in range(int(run.layout.pp)))


def at_stage(run: Run, index: Real, fitted: Coefficients | None = None) -> Memory:
    """Predict the peak memory of a GPU in the pipeline stage `index`."""
    fitted = fitted or stored()
    stage = stage_at(count(run.training.architecture), run.layout, index)
    parameters = stage_parameters(run, stage)
    state_bytes = states(run, parameters)
    microbatch_bytes = activation_bytes(run, stage, fitted.imbalance) + stage_outputs(run)
    activations = microbatch_bytes * in_flight(run.training, run.layout, index) + embedded(run, stage)
    passing = transients(run, stage, parameters)
    passing = larger(passing, stepping(run, parameters) - activations) + workspace(run, fitted)
    allocated = state_bytes.weights + state_bytes.gradients + state_bytes.optimizer + activations + passing
    slack = fitted.slack_of(run.stack.family)
    return Memory(
        weights=state_bytes.weights,
        gradients=state_bytes.gradients,
        optimizer=state_bytes.optimizer,
        activations=activations,
        transients=passing,
        fragmentation=slack * allocated,
        context=outside(run, fitted),
    )


def stage_outputs(run: Run) -> Real:
    """Return the bytes of the stage's output per microbatch, which pipelines of DeepSpeed and PyTorch store; else 0."""
    output_bytes = border(run).on(run.layout) * tokens(run)
    return pick((deepspeed(run) & (run.layout.pp > 1)) | pipelined(run), output_bytes, 0.0)


def embedded(run: Run, stage: MemoryStage) -> Real:
    """Return the bytes of the embedding's dropout masks of all microbatches in flight, on the first stage; 0 elsewhere.

    Also 0 without dropout.
    """
    work, layout = run.training, run.layout
    if not work.dropout:
        return 0.0
    mask = work.architecture.hidden / pick(layout.sequence_parallel > 0, layout.tp, 1)
    return stage.has_embedding * tokens(run) * mask * in_flight(work, layout, stage.index)


def _fuller(a: Memory, b: Memory) -> Memory:
    more = b.total > a.total
    return Memory(*(pick(more, getattr(b, part.name), getattr(a, part.name)) for part in fields(Memory)))


class MemoryFit(StrEnum):
    """Whether a run fits into GPU memory; `tight` counts as fitting."""

    FITS = N_("fits")
    TIGHT = N_("tight")  # closer to the limit than the prediction's error
    OOM = N_("oom")


def classify_fit(memory: Memory, gpu: Gpu, fitted: Coefficients | None = None) -> MemoryFit:
    """Compare predicted memory with what CUDA offers on a GPU (`Gpu.usable_bytes`), for one layout, not for arrays.

    Predictions for held-out sources have a median error of `typical` and a third quartile of `spread`: a run up to
    `typical` above the limit is not yet `oom`, a run less than `spread` below it is `tight`.
    """
    coefficients = fitted or stored()
    need = float(memory.total)
    if need > gpu.usable_bytes * (1 + coefficients.typical):
        return MemoryFit.OOM
    return MemoryFit.TIGHT if need * (1 + coefficients.spread) > gpu.usable_bytes else MemoryFit.FITS


class Definition(StrEnum):
    """Which memory figure a source reported, and of which GPU."""

    ALLOCATED = "allocated"  # torch.cuda.max_memory_allocated, maximum over GPUs
    LAST_RANK = "last-rank"  # the same on the last rank, which writes Megatron's log
    RESERVED = "reserved"  # torch.cuda.max_memory_reserved, maximum over GPUs
    TOTAL = "total"  # nvidia-smi, maximum over GPUs


def reported(run: Run, definition: Definition, fitted: Coefficients | None = None) -> Real:
    """Predict peak memory in bytes as a report with this definition would show it: of the last rank, else the fullest.

    The allocator frees cached blocks before it fails, so reserved memory stays within the GPU's where possible.
    """
    if definition is Definition.LAST_RANK:
        return at_stage(run, run.layout.pp - 1, fitted).allocated
    fullest = peak(run, fitted)
    if definition is Definition.ALLOCATED:
        return fullest.allocated
    beyond = 0.0 if definition is Definition.RESERVED else fullest.context
    available = larger(run.machine.gpu.usable_bytes - fullest.context, fullest.allocated)
    return smaller(fullest.allocated + fullest.fragmentation, available) + beyond
