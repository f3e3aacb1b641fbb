"""Remedies if nothing fits: changes that are tried one at a time, cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clusterwright import catalog
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.plan.machines import nvlink_domain
from clusterwright.plan.run import Offload, Recompute
from clusterwright.plan.search.outcome import format_layout, gib
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options
    from clusterwright.plan.search.outcome import SearchOutcome

    Search = Callable[[Training, Machine, Options], SearchOutcome]

MOST_DOUBLINGS = 6  # of the GPUs: at most 64 times as many are tried


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change, and the search with it."""

    description: str
    training: Training
    machine: Machine
    options: Options


def remedies(training: Training, machine: Machine, options: Options, search: Search) -> tuple[str, ...]:
    """Try every change with a search, and return one sentence each: its best layout, or how much memory is missing.

    Of more GPUs, and of larger ones, only the first with which a layout fits is returned.
    """
    single = replace(options, top=1)
    sentences = [_try(step, search)[0] for step in _steps(training, machine, single)]
    sentences += [_first_fit(_more_gpus(training, machine, single), search)]
    sentences += [_first_fit(_larger_gpus(training, machine, single), search)]
    return tuple(sentence for sentence in sentences if sentence)


def _steps(training: Training, machine: Machine, options: Options) -> Iterator[Remedy]:
    """Yield changes that are not made already: looser options, savings, offload, tensor parallelism across nodes.

    Several savings are also yielded together.
    """
    for description, changes in _freedoms(options):
        yield Remedy(description, training, machine, replace(options, **changes))
    savings = dict(_savings(training))
    for description, changes in savings.items():
        yield Remedy(description, replace(training, **changes), machine, options)
    if len(savings) > 1:
        every = {name: value for changes in savings.values() for name, value in changes.items()}
        yield Remedy(
            _("the previous {count} changes together", count=len(savings)),
            replace(training, **every),
            machine,
            options,
        )
    if Offload.ALL not in options.offload:
        description = _("store optimizer states and weights in host memory (time excludes transfers)")
        yield Remedy(
            description, training, machine, replace(options, offload=(*options.offload, Offload.ALL))
        )
    if machine.gpus > machine.nvlink_domain and not options.max_tp and not options.tp:
        description = _("use tensor parallelism across nodes (slow)")
        yield Remedy(description, training, machine, replace(options, max_tp=machine.gpus))


def _freedoms(options: Options) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (description, new values of the options) for each restriction of the user's options that can be lifted."""
    if Recompute.FULL not in options.recompute:
        yield _("recompute every layer"), {"recompute": (*options.recompute, Recompute.FULL)}
    if 3 not in options.zero:
        yield _("shard everything (ZeRO 3)"), {"zero": (*options.zero, 3)}
    for name in ("tp", "pp", "cp", "ep", "etp", "dp", "micro_batch"):
        if options.fixed(name):
            yield _("leave {option} to the search", option=name.replace("_", "-")), {name: None}


def _savings(training: Training) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (description, new values of the training) for each change that saves memory and is not made already."""
    if training.gradient_bytes > 2:
        yield _("accumulate gradients in bf16"), {"gradient_bytes": 2}
    if training.optimizer == "adam":
        yield _("use 8-bit Adam"), {"optimizer": "adam8bit"}
    if not training.fused_loss:
        yield _("compute the loss in chunks (fused loss)"), {"fused_loss": True}


def _try(step: Remedy, search: Search) -> tuple[str, bool]:
    """Search with a change and return (sentence with the layout or what is short, whether a layout fits).

    The sentence is empty if the search raises an error.
    """
    try:
        outcome = search(step.training, step.machine, step.options)
    except WrightError:  # the change leaves no layout that divides the sizes
        return "", False
    if outcome.best:
        layout, time = format_layout(outcome.best.run.layout), human_duration(float(outcome.best.time.total))
        text = _(
            "{change}: fits, {layout}, {time} per step", change=step.description, layout=layout, time=time
        )
        return text, True
    return _("{change}: still {size} short", change=step.description, size=gib(_short(outcome))), False


def _first_fit(steps: Iterable[Remedy], search: Search) -> str:
    """Return the sentence of the first change with which a layout fits; "" if there is none."""
    return next((sentence for sentence, is_fit in (_try(step, search) for step in steps) if is_fit), "")


def _short(outcome: SearchOutcome) -> float:
    assert outcome.nearest is not None  # noqa: S101 (without a best there is a nearest)
    return float(outcome.nearest.memory.total) - outcome.machine.gpu.usable_bytes


def _more_gpus(training: Training, machine: Machine, options: Options) -> Iterator[Remedy]:
    """Yield the search with the number of GPUs doubled again and again, up to 64 times as many."""
    for doubling in range(1, MOST_DOUBLINGS + 1):
        gpus = machine.gpus * 2**doubling
        yield Remedy(_("use {gpus} GPUs", gpus=gpus), training, replace(machine, gpus=gpus), options)


def _larger_gpus(training: Training, machine: Machine, options: Options) -> Iterator[Remedy]:
    """Yield the search with each larger GPU of the same vendor, least memory first."""
    able = [gpu for gpu in catalog.gpus().values() if gpu.peak and gpu.vendor == machine.gpu.vendor]
    larger = [gpu for gpu in able if gpu.usable_bytes > machine.gpu.usable_bytes]
    for gpu in sorted(larger, key=lambda gpu: (gpu.usable_bytes, gpu.name)):
        domain = nvlink_domain(gpu, machine.gpus_per_node) if gpu.link_bytes_per_s else 1
        larger_machine = replace(machine, gpu=gpu, nvlink_domain=domain)
        yield Remedy(_("use {gpu}", gpu=gpu.name), training, larger_machine, options)
