"""When nothing fits: what would, tried one after the other, cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterwright import catalog
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.plan.machines import nvlink_domain
from clusterwright.plan.run import Offload, Recompute
from clusterwright.plan.search.outcome import format_layout, gib

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options
    from clusterwright.plan.search.outcome import Outcome

    Search = Callable[[Training, Machine, Options], Outcome]

MOST_DOUBLINGS = 6  # of the GPUs; beyond 64 times as many it is another question


@dataclass(frozen=True, slots=True)
class Step:
    """One change, and the question with it."""

    description: str
    training: Training
    machine: Machine
    options: Options


def remedies(training: Training, machine: Machine, options: Options, search: Search) -> tuple[str, ...]:
    """One sentence a step: what it is, and whether its best layout fits or by how much it does not."""
    sentences = [_sentence(step, search) for step in _steps(training, machine, replace(options, top=1))]
    sentences += [_more_gpus(training, machine, replace(options, top=1), search)]
    return tuple(
        sentence for sentence in [*sentences, _larger_gpu(training, machine, options, search)] if sentence
    )


def _steps(training: Training, machine: Machine, options: Options) -> Iterator[Step]:
    """Those that were not tried already, by what they cost in time."""
    for description, changes in _freedoms(options):
        yield Step(description, training, machine, replace(options, **changes))
    savings = dict(_savings(training))
    for description, changes in savings.items():
        yield Step(description, replace(training, **changes), machine, options)
    if len(savings) > 1:
        every = {name: value for changes in savings.values() for name, value in changes.items()}
        yield Step(
            _("these {count} together", count=len(savings)), replace(training, **every), machine, options
        )
    if Offload.ALL not in options.offload:
        description = _("keep optimiser states and weights in host memory (time without their transfers)")
        yield Step(description, training, machine, replace(options, offload=(*options.offload, Offload.ALL)))
    if machine.gpus > machine.nvlink_domain and not options.max_tp and not options.tp:
        description = _("cut by tp across nodes (slow)")
        yield Step(description, training, machine, replace(options, max_tp=machine.gpus))


def _freedoms(options: Options) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the user keeps from the search."""
    if Recompute.FULL not in options.recompute:
        yield "recompute every layer", {"recompute": (*options.recompute, Recompute.FULL)}
    if 3 not in options.zero:
        yield "shard everything (ZeRO 3)", {"zero": (*options.zero, 3)}
    for name in ("tp", "pp", "cp", "ep", "etp", "dp", "micro_batch"):
        if options.fixed(name):
            yield f"leave {name.replace('_', '-')} to the search", {name: None}


def _savings(training: Training) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a training can do with less memory."""
    if training.gradient_bytes > 2:
        yield "accumulate gradients in bf16", {"gradient_bytes": 2}
    if training.optimizer == "adam":
        yield "take 8-bit Adam", {"optimizer": "adam8bit"}
    if not training.fused_loss:
        yield "compute the loss in chunks (fused loss)", {"fused_loss": True}


def _sentence(step: Step, search: Search) -> str:
    try:
        outcome = search(step.training, step.machine, step.options)
    except WrightError:  # the change leaves nothing that divides
        return ""
    if outcome.best:
        return (
            f"{step.description}: fits, {format_layout(outcome.best.run.layout)}, "
            f"{float(outcome.best.time.total):.3g} s a step"
        )
    return f"{step.description}: still {gib(_short(outcome))} short"


def _short(outcome: Outcome) -> float:
    assert outcome.nearest is not None  # noqa: S101 (without a best there is a nearest)
    return float(outcome.nearest.memory.total) - outcome.machine.gpu.usable_bytes


def _more_gpus(training: Training, machine: Machine, options: Options, search: Search) -> str:
    """The fewest doublings of the GPUs with which something fits."""
    for doubling in range(1, MOST_DOUBLINGS + 1):
        gpus = machine.gpus * 2**doubling
        sentence = _sentence(
            Step(_("take {gpus} GPUs", gpus=gpus), training, replace(machine, gpus=gpus), options), search
        )
        if ": fits" in sentence:
            return sentence
    return ""


def _larger_gpu(training: Training, machine: Machine, options: Options, search: Search) -> str:
    """The maker's GPU with the least memory that is enough."""
    able = [gpu for gpu in catalog.gpus().values() if gpu.peak and gpu.vendor == machine.gpu.vendor]
    larger = [gpu for gpu in able if gpu.usable_bytes > machine.gpu.usable_bytes]
    for gpu in sorted(larger, key=lambda gpu: (gpu.usable_bytes, gpu.name)):
        domain = nvlink_domain(gpu, machine.gpus_per_node) if gpu.link_bytes_per_s else 1
        larger_machine = replace(machine, gpu=gpu, nvlink_domain=domain)
        step = Step(_("take {gpu}", gpu=gpu.name), training, larger_machine, replace(options, top=1))
        if ": fits" in (sentence := _sentence(step, search)):
            return sentence
    return ""
