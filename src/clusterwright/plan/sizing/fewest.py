"""Search for the fewest GPUs that finish a workload before its deadline.

Sizes are tried from the smallest up, each with its best layout, so that a later deadline never needs
a larger size. Whole nodes are bought; within one node fewer GPUs may suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan.assumptions import NO_LAYOUT, STACK, has_units, usual_precision
from clusterwright.plan.cost.goodput import goodput, straggler_slowdown
from clusterwright.plan.parameters import count
from clusterwright.plan.run import Offload, Run, Stack
from clusterwright.plan.speed.span import span
from clusterwright.plan.storage.demand import checkpoint_bytes as stored
from clusterwright.plan.storage.raid import Disk

if TYPE_CHECKING:
    from clusterwright.catalog.records import Gpu
    from clusterwright.plan.cost.goodput import Goodput
    from clusterwright.plan.prediction import Memory, Time
    from clusterwright.plan.run import Layout, Machine, Training
    from clusterwright.plan.sizing.workload import Workload


MOST_NODES = 2048  # 16,384 GPUs, the largest run with published figures (Llama 3, 2407.21783)
HOUR_S = 3600.0
SLOW_BY = 0.10  # slowdown of stragglers (MegaScale, 2402.15627, 5.1)
NODE_GPUS = 8  # of the nodes whose failure rate was published
NODE_WRITE = Disk().write_bytes_per_s  # each node writes its part of a checkpoint to one NVMe drive


@dataclass(frozen=True, slots=True)
class PlannedLayout:
    """The best layout of a training on a machine, with predicted time and memory."""

    layout: Layout
    time: Time  # of one iteration
    span_s: tuple[float, float]  # P10 and P90 of the time
    memory: Memory
    stack: Stack = STACK  # software that the time is predicted for


Planner = Callable[["Training", "Machine"], "PlannedLayout | None"]  # None: nothing fits


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions of sizing: how layouts are planned, machines built and trainings interrupted."""

    plan: Planner
    make: Callable[[Gpu, int], Machine]
    node_write_bytes_per_s: float = NODE_WRITE  # each node writes its part of a checkpoint
    most_nodes: int = MOST_NODES
    slow_share: float = 0.0  # share of stragglers that are not drained


@dataclass(frozen=True, slots=True)
class Sized:
    """A workload on a machine with its predicted duration, layout and goodput."""

    workload: Workload
    machine: Machine
    planned_layout: PlannedLayout
    goodput: Goodput
    slowdown: float = 1.0  # factor on an iteration, by stragglers

    @property
    def gpus(self) -> int:
        """Number of GPUs that train."""
        return self.machine.gpus

    @property
    def nodes(self) -> int:
        """Number of whole nodes that hold the GPUs which train."""
        return math.ceil(self.machine.gpus / self.machine.gpus_per_node)

    @property
    def hours(self) -> float:
        """Likely duration of the workload in hours, including failures and checkpoints."""
        return self._hours(float(self.planned_layout.time.total))

    @property
    def hours_range(self) -> tuple[float, float]:
        """P10 and P90 of the workload's duration in hours."""
        return self._hours(self.planned_layout.span_s[0]), self._hours(self.planned_layout.span_s[1])

    @property
    def run(self) -> Run:
        """The training in its planned layout on the machine, for which the figures are predicted."""
        planned = self.planned_layout
        return Run(self.workload.training, planned.layout, self.machine, planned.stack)

    @property
    def gpu_hours(self) -> float:
        """GPU-hours of the training: its predicted hours times the GPUs."""
        return self.hours * self.gpus

    @property
    def tokens_per_s(self) -> float:
        """Throughput of all GPUs in tokens/s, without checkpoints and failures."""
        training = self.workload.training
        return training.global_batch * training.seq_len / float(self.planned_layout.time.total)

    @property
    def utilization(self) -> float:
        """Model FLOPs over peak FLOPs (MFU)."""
        return float(self.planned_layout.time.ideal) / float(self.planned_layout.time.total)

    def _hours(self, iteration_s: float) -> float:
        return self.workload.steps * iteration_s * self.slowdown / self.goodput.share / HOUR_S


def sized(workload: Workload, machine: Machine, assumptions: Assumptions) -> Sized | None:
    """Predict the duration of a workload on a machine with stragglers and failures.

    None if no layout of the training fits into memory and divides the machine. The precision is one that the GPU
    supports.
    """
    workload = as_the_gpu_can(workload, machine.gpu)
    planned_layout = assumptions.plan(workload.training, machine)
    if planned_layout is None:
        return None
    nodes = math.ceil(machine.gpus / machine.gpus_per_node)
    failing = nodes * machine.gpus_per_node / NODE_GPUS
    slowdown = straggler_slowdown(nodes, assumptions.slow_share, SLOW_BY)
    length_s = workload.steps * float(planned_layout.time.total) * slowdown
    write_s = checkpoint_bytes(workload.training) / nodes / assumptions.node_write_bytes_per_s
    return Sized(
        workload, machine, planned_layout, goodput(failing, write_s=write_s, length_s=length_s), slowdown
    )


def as_the_gpu_can(workload: Workload, gpu: Gpu) -> Workload:
    """Return the workload in a precision that the GPU supports: bf16 becomes fp16 before Ampere, others stay.

    Raises:
        WrightError: size-workload, for another precision without matrix units on the GPU.
    """
    training = workload.training
    precision = usual_precision(gpu, training.precision)
    if has_units(gpu, precision):
        return replace(workload, training=replace(training, precision=precision))
    message = _("{gpu} has no matrix units for {precision}", gpu=gpu.name, precision=training.precision)
    fix = _("use one of {precisions}", precisions=", ".join(gpu.peak))
    raise WrightError.from_code("size-workload", message, fix, exit_code=EXIT_USAGE)


def checkpoint_bytes(training: Training) -> float:
    """Return the bytes of a checkpoint with weights and optimizer states; 0 for LoRA, whose adapters are negligible."""
    if training.task == "lora":
        return 0.0
    return stored(count(training.architecture).total, training.precision, training.optimizer)


def fewest(
    workload: Workload, gpu: Gpu, deadline_s: float, assumptions: Assumptions, *, sure_from: int = 0
) -> Sized:
    """Find the smallest size that likely (P50) meets the deadline.

    `sure_from` > 0: among sizes of at least this many GPUs, the smallest that meets it even at P90 of the prediction.

    Raises:
        WrightError: deadline-impossible, with alternatives; size-does-not-fit if the model fits on no size.
    """
    attempts: list[Sized] = []
    possible, workload = False, as_the_gpu_can(workload, gpu)
    for gpus in sizes(assumptions.make(gpu, 1).gpus_per_node, assumptions.most_nodes):
        if gpus < sure_from or least_s(workload, gpu, gpus) > deadline_s:
            continue  # impossible even at the peak rate
        possible = True
        if checkpoint_bytes(workload.training) > gpus * gpu.usable_bytes:
            continue  # a single copy of the states does not fit
        result = sized(workload, assumptions.make(gpu, gpus), assumptions)
        if result is None:
            continue
        if (result.hours_range[1] if sure_from else result.hours) * HOUR_S <= deadline_s:
            return result
        attempts.append(result)
    raise _impossible(workload, gpu, deadline_s, attempts, assumptions.most_nodes, possible=possible)


def sizes(gpus_per_node: int, most_nodes: int) -> Iterator[int]:
    """Yield GPU counts to try: powers of two in a node, every number of nodes up to 16, then eight per doubling."""
    gpus = 1
    while gpus < gpus_per_node:
        yield gpus
        gpus *= 2
    step, nodes = 1, 1
    while nodes <= most_nodes:
        yield nodes * gpus_per_node
        if nodes >= 16 * step:
            step *= 2
        nodes += step


def least_s(workload: Workload, gpu: Gpu, gpus: int) -> float:
    """Return lower bound of the duration in seconds: 6 FLOPs per token and matrix parameter (LoRA: 4) at the best rate.

    Core attention and the embedding are left out, so that the bound is strict.
    """
    training = workload.training
    model = count(training.architecture)
    unused = model.experts - training.architecture.experts_per_token
    active = model.total - model.embedding - model.moe_layers * model.expert * unused
    flops = (4 if training.task == "lora" else 6) * active * workload.tokens
    return flops / (gpus * best_rate(gpu, training.precision))


def best_rate(gpu: Gpu, precision: str) -> float:
    """Return FLOP/s that no training exceeds: the best measured matrix product, else the peak."""
    achieved = (gpu.achieved or {}).get(precision, 0.0)
    return achieved or gpu.peak.get(precision) or max(gpu.peak.values())


def does_not_fit(workload: Workload, machines: str) -> WrightError:
    """Return the error that no layout of the model fits on these machines."""
    message = _(
        "{model} does not fit on {machines}", model=workload.training.architecture.name, machines=machines
    )
    fix = _("use a GPU with more memory or a shorter --seq, or see the remedies of `wright plan search`")
    return WrightError.from_code("size-does-not-fit", message, fix, exit_code=EXIT_USAGE)


def _impossible(
    workload: Workload, gpu: Gpu, deadline_s: float, attempts: list[Sized], most_nodes: int, *, possible: bool
) -> WrightError:
    name, model = gpu.name, workload.training.architecture.name
    if not attempts and possible:
        machines = _("any number of {gpu} GPUs up to {count} nodes", gpu=name, count=most_nodes)
        return does_not_fit(workload, machines)
    if not attempts:
        message = _(
            "{hours:g} h is not possible on {count} nodes of {gpu}, even at its peak rate",
            hours=deadline_s / HOUR_S,
            count=most_nodes,
            gpu=name,
        )
        fix = _("allow more time, or use less data or a smaller model")
        return WrightError.from_code("deadline-impossible", message, fix, exit_code=EXIT_USAGE)
    best = min(attempts, key=lambda attempt: attempt.hours)
    message = _(
        "{deadline:g} h is not possible for {model} on {gpu}: the fastest is {hours:.3g} h on {count} GPUs, "
        "limited by {bottleneck}",
        deadline=deadline_s / HOUR_S,
        model=model,
        gpu=name,
        hours=best.hours,
        count=best.gpus,
        bottleneck=_bottleneck(best),
    )
    batch = workload.training.global_batch
    if best.gpus >= batch:
        fix = _(
            "use a larger --global-batch than {batch} (more GPUs can share it), a faster GPU (--scenario training "
            "shows some), a smaller model or less data, or allow {hours:.3g} h",
            batch=batch,
            hours=best.hours,
        )
    else:
        fix = _(
            "use a faster GPU (--scenario training shows some), a smaller model or less data, or allow "
            "{hours:.3g} h",
            hours=best.hours,
        )
    return WrightError.from_code("deadline-impossible", message, fix, exit_code=EXIT_USAGE)


def _bottleneck(best: Sized) -> str:
    training = best.workload.training
    if (
        float(best.planned_layout.layout.dp) * float(best.planned_layout.layout.micro_batch)
        >= training.global_batch
    ):
        return _("the global batch of {batch}: each replica has one sequence", batch=training.global_batch)
    return _("the network")


def searched(training: Training, machine: Machine, stack: Stack = STACK) -> PlannedLayout | None:
    """Find the fastest layout of a training on a machine; None if none fits or divides it.

    Without offload: bought GPUs hold a training in their own memory.
    """
    return _best(training, machine, stack, (Offload.NONE,))


def on_existing(training: Training, machine: Machine, stack: Stack = STACK) -> PlannedLayout | None:
    """Find the fastest layout on an existing machine as `wright plan search` does; offload weights only if needed.

    None if none fits or divides it.
    """
    from clusterwright.plan.search.options import Options

    best = _best(training, machine, stack, Options().offload)
    return best or _best(training, machine, stack, (Offload.ALL,))


def _best(
    training: Training, machine: Machine, stack: Stack, offload: tuple[Offload, ...]
) -> PlannedLayout | None:
    from clusterwright.plan.search import fastest
    from clusterwright.plan.search.options import Options

    options = Options(top=1, stack=stack, offload=offload)
    try:
        best = fastest.search(training, machine, options=options).best
    except WrightError as error:
        if any(finding.code == NO_LAYOUT for finding in error.findings):
            return None
        raise
    if best is None:
        return None
    low, high = span(best.run, best.time)
    return PlannedLayout(best.run.layout, best.time, (float(low), float(high)), best.memory, stack)
