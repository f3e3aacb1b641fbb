"""The fewest GPUs that do a workload before its deadline.

Sizes are tried from the smallest up, each with its best layout, so that a later deadline can only find the
same size or a smaller one. Whole nodes are bought; within one node fewer GPUs may be enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan.cost.goodput import goodput, straggler_slowdown
from clusterwright.plan.parameters import count
from clusterwright.plan.run import Offload, Schedule, Stack
from clusterwright.plan.speed import span
from clusterwright.plan.storage.demand import checkpoint_bytes as stored
from clusterwright.plan.storage.raid import Disk

if TYPE_CHECKING:
    from clusterwright.catalog.records import Gpu
    from clusterwright.plan.cost.goodput import Goodput
    from clusterwright.plan.prediction import Memory, Time
    from clusterwright.plan.run import Layout, Machine, Training
    from clusterwright.plan.sizing.workload import Workload


MOST_NODES = 2048  # 16,384 GPUs, the largest run whose figures were published (Llama 3, 2407.21783)
HOUR_S = 3600.0
SLOW_BY = 0.10  # of slow hosts (MegaScale, 2402.15627, 5.1)
NODE_GPUS = 8  # of the nodes whose failures were counted
_UNITS = {"mxfp8": "fp8", "nvfp4": "fp4"}  # by the rate that the catalog has for it
NODE_WRITE = Disk().write_bytes_per_s  # the part of a checkpoint that a node writes goes to one NVMe drive


@dataclass(frozen=True, slots=True)
class PlannedLayout:
    """The best way found to cut a training over a machine."""

    layout: Layout
    time: Time  # of one iteration
    span_s: tuple[float, float]  # P10 and P90 of it
    memory: Memory


Planner = Callable[["Training", "Machine"], "PlannedLayout | None"]  # None: nothing fits


@dataclass(frozen=True, slots=True)
class Assumptions:
    """How sizes are made, cut and interrupted."""

    plan: Planner
    make: Callable[[Gpu, int], Machine]
    node_write_bytes_per_s: float = NODE_WRITE  # each node writes its part of a checkpoint
    most_nodes: int = MOST_NODES
    slow_share: float = 0.0  # of the nodes: a tenth slower, and not taken out


@dataclass(frozen=True, slots=True)
class Sized:
    """A workload on a machine: how long, and what it takes."""

    workload: Workload
    machine: Machine
    planned_layout: PlannedLayout
    goodput: Goodput
    slowdown: float = 1.0  # of an iteration, by slow nodes

    @property
    def gpus(self) -> int:
        """GPUs that train."""
        return self.machine.gpus

    @property
    def nodes(self) -> int:
        """Whole nodes that hold them."""
        return math.ceil(self.machine.gpus / self.machine.gpus_per_node)

    @property
    def hours(self) -> float:
        """Likely, with what failures and checkpoints cost."""
        return self._hours(float(self.planned_layout.time.total))

    @property
    def hours_range(self) -> tuple[float, float]:
        """P10 and P90 of the prediction."""
        return self._hours(self.planned_layout.span_s[0]), self._hours(self.planned_layout.span_s[1])

    @property
    def gpu_hours(self) -> float:
        """GPU-hours of the GPUs that train."""
        return self.hours * self.gpus

    @property
    def tokens_per_s(self) -> float:
        """Of the whole machine while it trains, checkpoints and failures not counted."""
        training = self.workload.training
        return training.global_batch * training.seq_len / float(self.planned_layout.time.total)

    @property
    def utilization(self) -> float:
        """Model FLOPs over peak FLOPs (MFU)."""
        return float(self.planned_layout.time.ideal) / float(self.planned_layout.time.total)

    def _hours(self, iteration_s: float) -> float:
        return self.workload.steps * iteration_s * self.slowdown / self.goodput.share / HOUR_S


def sized(workload: Workload, machine: Machine, assumptions: Assumptions) -> Sized | None:
    """How long the workload takes on that machine; None where it does not fit."""
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
    """The same work in fp16 where the GPU has no bf16 (before Ampere).

    Raises:
        WrightError: size-workload, for another precision that the GPU has no matrix units for.
    """
    training = workload.training
    if _UNITS.get(training.precision, training.precision) in gpu.peak:
        return workload
    if training.precision == "bf16" and "fp16" in gpu.peak:
        return replace(workload, training=replace(training, precision="fp16"))
    message = _("{gpu} has no matrix units for {precision}", gpu=gpu.name, precision=training.precision)
    fix = _("take one of {peak}", peak=", ".join(gpu.peak))
    raise WrightError.from_code("size-workload", message, fix, exit_code=EXIT_USAGE)


def checkpoint_bytes(training: Training) -> float:
    """Weights and optimiser; of LoRA the adapters alone, which are next to nothing."""
    if training.task == "lora":
        return 0.0
    return stored(count(training.architecture).total, training.precision, training.optimizer)


def fewest(
    workload: Workload, gpu: Gpu, deadline_s: float, assumptions: Assumptions, *, sure_from: int = 0
) -> Sized:
    """The smallest size that is likely done by the deadline.

    `sure_from`: of that many GPUs and more, the smallest that is done even at the slow end (P90) of the prediction.

    Raises:
        WrightError: deadline-impossible, with what would do; size-does-not-fit where no size holds the model.
    """
    attempts: list[Sized] = []
    possible, workload = False, as_the_gpu_can(workload, gpu)
    for gpus in sizes(assumptions.make(gpu, 1).gpus_per_node, assumptions.most_nodes):
        if gpus < sure_from or least_s(workload, gpu, gpus) > deadline_s:
            continue  # not even at the peak rate
        possible = True
        if checkpoint_bytes(workload.training) > gpus * gpu.usable_bytes:
            continue  # not even the states fit, each held once
        result = sized(workload, assumptions.make(gpu, gpus), assumptions)
        if result is None:
            continue
        if (result.hours_range[1] if sure_from else result.hours) * HOUR_S <= deadline_s:
            return result
        attempts.append(result)
    raise _impossible(workload, gpu, deadline_s, attempts, assumptions.most_nodes, possible=possible)


def sizes(gpus_per_node: int, most_nodes: int) -> Iterator[int]:
    """Sizes to try: powers of two in a node, every number of nodes to 16, then eight in each doubling."""
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
    """Seconds that it takes at least: 6 FLOPs a token and matrix parameter (LoRA: 4), at the peak rate.

    Attention and the embedding are left out, so that it is a true bound.
    """
    training = workload.training
    model = count(training.architecture)
    unused = model.experts - training.architecture.experts_per_token
    active = model.total - model.embedding - model.moe_layers * model.expert * unused
    flops = (4 if training.task == "lora" else 6) * active * workload.tokens
    return flops / (gpus * best_rate(gpu, training.precision))


def best_rate(gpu: Gpu, precision: str) -> float:
    """FLOP/s that no training passes: the best matrix product that was measured, or else the peak."""
    achieved = (gpu.achieved or {}).get(precision, 0.0)
    return achieved or gpu.peak.get(precision) or max(gpu.peak.values())


def does_not_fit(workload: Workload, machines: str) -> WrightError:
    """The model is too large for these machines, however it is cut."""
    message = _(
        "{architecture} does not fit on {machines}",
        architecture=workload.training.architecture.name,
        machines=machines,
    )
    fix = _("take a GPU with more memory, a shorter --seq, or see the remedies: wright plan search")
    return WrightError.from_code("size-does-not-fit", message, fix, exit_code=EXIT_USAGE)


def _impossible(
    workload: Workload, gpu: Gpu, deadline_s: float, attempts: list[Sized], most_nodes: int, *, possible: bool
) -> WrightError:
    name, model = gpu.name, workload.training.architecture.name
    if not attempts and possible:
        return does_not_fit(workload, f"any number of {name} up to {most_nodes} nodes")
    if not attempts:
        message = _(
            "{deadline_s:g} h is not possible on {most_nodes} nodes of {name}, even at its peak rate",
            deadline_s=deadline_s / HOUR_S,
            most_nodes=most_nodes,
            name=name,
        )
        fix = _("give more time, less data, or a smaller model")
        return WrightError.from_code("deadline-impossible", message, fix, exit_code=EXIT_USAGE)
    best = min(attempts, key=lambda attempt: attempt.hours)
    message = _(
        "{deadline_s:g} h is not possible for {model} on {name}: the fastest is {hours:.3g} "
        "h on {gpus} GPUs, at {bottleneck}",
        deadline_s=deadline_s / HOUR_S,
        model=model,
        name=name,
        hours=best.hours,
        gpus=best.gpus,
        bottleneck=_bottleneck(best),
    )
    alternatives = "a faster GPU (--scenario training shows some), a smaller model, less data"
    fix = _(
        "{more_batch}{alternatives}, or {hours:.3g} h",
        more_batch=_more_batch(workload, best),
        alternatives=alternatives,
        hours=best.hours,
    )
    return WrightError.from_code("deadline-impossible", message, fix, exit_code=EXIT_USAGE)


def _bottleneck(best: Sized) -> str:
    training = best.workload.training
    if (
        float(best.planned_layout.layout.dp) * float(best.planned_layout.layout.micro_batch)
        >= training.global_batch
    ):
        return f"one sequence of the batch of {training.global_batch} on each replica"
    return "what the network lets it use"


def _more_batch(workload: Workload, best: Sized) -> str:
    batch = workload.training.global_batch
    return f"a larger --global-batch than {batch} (more GPUs can share it), " if best.gpus >= batch else ""


NO_LAYOUT = "plan-no-layout"  # nothing divides the model and the batch: not this size, then


def stack_for(task: str) -> Stack:
    """The software that a task is usually done with: Megatron from scratch, PyTorch's FSDP for tuning."""
    return Stack("megatron" if task == "pretrain" else "fsdp")


def searched(training: Training, machine: Machine) -> PlannedLayout | None:
    """The fastest layout of a training on a machine; None where none fits or divides it.

    Nothing is offloaded and pipelines are 1F1B, interleaved or not: what is bought rests on what runs everywhere.
    """
    return _best(training, machine, (Offload.NONE,))


def with_offload(training: Training, machine: Machine) -> PlannedLayout | None:
    """The same, and with states or weights in the host's memory where it fits no other way."""
    return searched(training, machine) or _best(training, machine, (Offload.OPTIMIZER, Offload.ALL))


def _best(training: Training, machine: Machine, offload: tuple[Offload, ...]) -> PlannedLayout | None:
    from clusterwright.plan.search import Options, search

    schedules = (Schedule.ONE_F_ONE_B,)
    options = Options(top=1, stack=stack_for(training.task), offload=offload, schedules=schedules)
    try:
        best = search(training, machine, options=options).best
    except WrightError as error:
        if any(finding.code == NO_LAYOUT for finding in error.findings):
            return None
        raise
    if best is None:
        return None
    low, high = span(best.run, best.time)
    return PlannedLayout(best.run.layout, best.time, (float(low), float(high)), best.memory)
