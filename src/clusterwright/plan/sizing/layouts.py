"""The layout that a size is judged by: the best that the search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.errors import WrightError
from clusterwright.plan.run import Offload, Schedule, Stack
from clusterwright.plan.sizing.fewest import Cut
from clusterwright.plan.speed import span

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training

NO_LAYOUT = "plan-no-layout"  # nothing divides the model and the batch: not this size, then


def stack_for(task: str) -> Stack:
    """The software that a task is usually done with: Megatron from scratch, PyTorch's FSDP for tuning."""
    return Stack("megatron" if task == "pretrain" else "fsdp")


def searched(training: Training, machine: Machine) -> Cut | None:
    """The fastest layout of a training on a machine; None where none fits or divides it.

    Nothing is offloaded and pipelines are 1F1B, interleaved or not: what is bought rests on what runs everywhere.
    """
    return _best(training, machine, (Offload.NONE,))


def with_offload(training: Training, machine: Machine) -> Cut | None:
    """The same, and with states or weights in the host's memory where it fits no other way."""
    return searched(training, machine) or _best(training, machine, (Offload.OPTIMIZER, Offload.ALL))


def _best(training: Training, machine: Machine, offload: tuple[Offload, ...]) -> Cut | None:
    from clusterwright.plan.search import Options, search

    schedules = (Schedule.ONE_F_ONE_B,)
    options = Options(top=1, stack=stack_for(training.task), offload=offload, schedules=schedules)
    try:
        best = search(training, machine, options=options).best
    except WrightError as why:
        if any(finding.code == NO_LAYOUT for finding in why.findings):
            return None
        raise
    if best is None:
        return None
    low, high = span(best.run, best.time)
    return Cut(best.run.layout, best.time, (float(low), float(high)), best.memory)
