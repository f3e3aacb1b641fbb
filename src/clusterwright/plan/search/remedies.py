"""When nothing fits: what would, tried one after the other, cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterwright import catalog
from clusterwright.errors import WrightError
from clusterwright.plan.machines import nvlink_domain
from clusterwright.plan.run import Offload, Recompute
from clusterwright.plan.search.outcome import gib, layout_words

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options
    from clusterwright.plan.search.outcome import Outcome

    Ask = Callable[[Training, Machine, Options], Outcome]

MOST_DOUBLINGS = 6  # of the GPUs; beyond 64 times as many it is another question


@dataclass(frozen=True, slots=True)
class Step:
    """One change, and the question with it."""

    words: str
    training: Training
    machine: Machine
    options: Options


def remedies(training: Training, machine: Machine, options: Options, ask: Ask) -> tuple[str, ...]:
    """One sentence a step: what it is, and whether its best layout fits or by how much it does not."""
    told = [_told(step, ask) for step in _steps(training, machine, replace(options, top=1))]
    told += [_more_gpus(training, machine, replace(options, top=1), ask)]
    return tuple(sentence for sentence in [*told, _larger_gpu(training, machine, options, ask)] if sentence)


def _steps(training: Training, machine: Machine, options: Options) -> Iterator[Step]:
    """Those that were not tried already, by what they cost in time."""
    for words, changes in _freedoms(options):
        yield Step(words, training, machine, replace(options, **changes))
    savings = dict(_savings(training))
    for words, changes in savings.items():
        yield Step(words, replace(training, **changes), machine, options)
    if len(savings) > 1:
        every = {name: value for changes in savings.values() for name, value in changes.items()}
        yield Step(f"these {len(savings)} together", replace(training, **every), machine, options)
    if Offload.ALL not in options.offload:
        words = "keep optimiser states and weights in host memory (time without their transfers)"
        yield Step(words, training, machine, replace(options, offload=(*options.offload, Offload.ALL)))
    if machine.gpus > machine.nvlink_domain and not options.max_tp and not options.tp:
        words = "cut by tp across nodes (slow)"
        yield Step(words, training, machine, replace(options, max_tp=machine.gpus))


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


def _told(step: Step, ask: Ask) -> str:
    try:
        said = ask(step.training, step.machine, step.options)
    except WrightError:  # the change leaves nothing that divides
        return ""
    if said.best:
        return f"{step.words}: fits, {layout_words(said.best.run.layout)}, {float(said.best.time.total):.3g} s a step"
    return f"{step.words}: still {gib(_short(said))} short"


def _short(said: Outcome) -> float:
    assert said.nearest is not None  # noqa: S101 (without a best there is a nearest)
    return float(said.nearest.memory.total) - said.machine.gpu.usable_bytes


def _more_gpus(training: Training, machine: Machine, options: Options, ask: Ask) -> str:
    """The fewest doublings of the GPUs with which something fits."""
    for doubling in range(1, MOST_DOUBLINGS + 1):
        gpus = machine.gpus * 2**doubling
        told = _told(Step(f"take {gpus} GPUs", training, replace(machine, gpus=gpus), options), ask)
        if ": fits" in told:
            return told
    return ""


def _larger_gpu(training: Training, machine: Machine, options: Options, ask: Ask) -> str:
    """The maker's GPU with the least memory that is enough."""
    able = [gpu for gpu in catalog.gpus().values() if gpu.peak and gpu.vendor == machine.gpu.vendor]
    larger = [gpu for gpu in able if gpu.usable_bytes > machine.gpu.usable_bytes]
    for gpu in sorted(larger, key=lambda gpu: (gpu.usable_bytes, gpu.name)):
        domain = nvlink_domain(gpu, machine.gpus_per_node) if gpu.link_bytes_per_s else 1
        other = replace(machine, gpu=gpu, nvlink_domain=domain)
        step = Step(f"take {gpu.name}", training, other, replace(options, top=1))
        if ": fits" in (told := _told(step, ask)):
            return told
    return ""
