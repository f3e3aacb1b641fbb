"""Peak memory of each pipeline stage, and of the fullest."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING

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
    from clusterwright.plan.memory.stage import Stage
    from clusterwright.plan.numbers import Real
    from clusterwright.plan.run import Run


def peak(run: Run, fitted: Coefficients | None = None) -> Memory:
    """Memory of the fullest GPU in bytes: of the first, second and last stage the one that holds most.

    Stages between hold what the second does, or less.
    """
    pp = run.layout.pp
    fullest = at_stage(run, 0, fitted)
    for index in _later(pp):
        fullest = _fuller(fullest, at_stage(run, index, fitted))
    return fullest


def peak_bytes(run: Run, fitted: Coefficients | None = None) -> Real:
    """The total of `peak` without its parts, for many layouts at once."""
    pp = run.layout.pp
    most = at_stage(run, 0, fitted).total
    for index in _later(pp):
        most = larger(most, at_stage(run, index, fitted).total)
    return most


def _later(pp: Real) -> tuple[Real, ...]:
    """The second and the last stage, where they are others than the first."""
    if is_array(pp):
        return smaller(1, pp - 1), pp - 1
    return tuple(sorted({1, int(pp) - 1} - {0})) if pp > 1 else ()


def stages(run: Run, fitted: Coefficients | None = None) -> tuple[Memory, ...]:
    """Every pipeline stage of one layout, from the first to the last."""
    return tuple(at_stage(run, index, fitted) for index in range(int(run.layout.pp)))


def at_stage(run: Run, index: Real, fitted: Coefficients | None = None) -> Memory:
    """Peak memory of a GPU of that stage."""
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
    """DeepSpeed's and PyTorch's pipelines keep the output of a stage too, for each microbatch in flight."""
    output_bytes = border(run).on(run.layout) * tokens(run)
    return pick((deepspeed(run) & (run.layout.pp > 1)) | pipelined(run), output_bytes, 0.0)


def embedded(run: Run, stage: Stage) -> Real:
    """The mask of the embedding's dropout, of each microbatch in flight on the first stage."""
    work, layout = run.training, run.layout
    if not work.dropout:
        return 0.0
    mask = work.architecture.hidden / pick(layout.sequence_parallel > 0, layout.tp, 1)
    return stage.has_embedding * tokens(run) * mask * in_flight(work, layout, stage.index)


def _fuller(a: Memory, b: Memory) -> Memory:
    more = b.total > a.total
    return Memory(*(pick(more, getattr(b, part.name), getattr(a, part.name)) for part in fields(Memory)))


class MemoryFit(StrEnum):
    """The answer; a tight one counts as fitting."""

    FITS = "fits"
    TIGHT = "tight"  # closer to the limit than predictions are sure
    OOM = "oom"


def classify_fit(memory: Memory, gpu: Gpu, fitted: Coefficients | None = None) -> MemoryFit:
    """Against what CUDA offers a program on that GPU (`Gpu.usable_bytes`), for one layout.

    Predictions of sources that were not fitted are off by `typical` in the median and `spread` in three of
    four: within the first above the limit a run is not yet called out of memory, within the second below
    it is tight.
    """
    coefficients = fitted or stored()
    need = float(memory.total)
    if need > gpu.usable_bytes * (1 + coefficients.typical):
        return MemoryFit.OOM
    return MemoryFit.TIGHT if need * (1 + coefficients.spread) > gpu.usable_bytes else MemoryFit.FITS


class Definition(StrEnum):
    """What was read, and where."""

    ALLOCATED = "allocated"  # torch.cuda.max_memory_allocated of the fullest GPU
    LAST_RANK = "last-rank"  # the same of the last rank: where Megatron writes its own log
    RESERVED = "reserved"  # torch.cuda.max_memory_reserved of the fullest GPU
    TOTAL = "total"  # nvidia-smi of the fullest GPU


def reported(run: Run, definition: Definition, fitted: Coefficients | None = None) -> Real:
    """Peak memory in bytes as such a report would print it.

    The allocator gives cached blocks back before it fails: what is reserved stays within the GPU if it can.
    """
    if definition is Definition.LAST_RANK:
        return at_stage(run, run.layout.pp - 1, fitted).allocated
    fullest = peak(run, fitted)
    if definition is Definition.ALLOCATED:
        return fullest.allocated
    beyond = 0.0 if definition is Definition.RESERVED else fullest.context
    available = larger(run.machine.gpu.usable_bytes - fullest.context, fullest.allocated)
    return smaller(fullest.allocated + fullest.fragmentation, available) + beyond
