"""Conversion of a search's state to its `Outcome`, with the reasons why layouts lose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan.charts.sheet import MEMORY, TIME
from clusterwright.plan.search.best_layouts import FAMILIES, plans, table
from clusterwright.plan.search.engine import Searcher, SearchState
from clusterwright.plan.search.meshes import meshes
from clusterwright.plan.search.outcome import Loss, SearchOutcome, gib
from clusterwright.plan.search.remedies import remedies

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options
    from clusterwright.plan.search.outcome import Plan


def answer(training: Training, machine: Machine, options: Options) -> SearchOutcome:
    """Search the layouts of a training on a machine for the best ones that fit its memory, and return the outcome.

    If nothing fits, it has the nearest layout in place of a best one and, if `options.advise` is set, remedies, each of
    which is searched in turn.

    Raises:
        WrightError: no layout divides the model, the batch and the GPUs.
    """
    valid_meshes, refused = meshes(training, machine, options)
    searcher = Searcher(training, machine, options, valid_meshes)
    state = searcher.run()
    if not state.memory_filter.considered:
        _nothing_divides(training, machine, refused)
    outcome = SearchOutcome(training, machine, options.stack, state.counts(dict(refused)))
    if state.best_layouts.columns:
        return _ranked(outcome, searcher, state, options)
    nearest = plans(searcher.plan, table(list(state.memory_filter.nearest.values())))
    losses = tuple(Loss(plan.family, plan, fits_memory=False, reason=too_large(plan)) for plan in nearest)
    least = min(nearest, key=lambda plan: float(plan.memory.total))
    outcome = replace(outcome, nearest=least, families=_in_order(losses))
    if not options.advise:
        return outcome
    return replace(outcome, remedies=remedies(training, machine, replace(options, advise=False), answer))


def _ranked(
    outcome: SearchOutcome, searcher: Searcher, state: SearchState, options: Options
) -> SearchOutcome:
    """Return the outcome with the layouts that fit, fastest first, and why the others lose; at least one must fit."""
    best_layouts, every = state.best_layouts, plans(searcher.plan, state.best_layouts.columns)
    best = every[0]
    by_mesh = tuple(every[index] for index in best_layouts.fastest_of("mesh")[: max(options.top, 2)])
    fitting = [every[index] for index in best_layouts.fastest_of("family")]
    oversized_cells = [
        cell for code, cell in state.memory_filter.nearest.items() if not state.memory_filter.fitted[code]
    ]
    oversized_plans = plans(searcher.plan, table(oversized_cells)) if oversized_cells else []
    losses = [
        Loss(plan.family, plan, fits_memory=True, reason=loses(plan, best))
        for plan in fitting
        if plan is not best
    ]
    losses += [Loss(plan.family, plan, fits_memory=False, reason=too_large(plan)) for plan in oversized_plans]
    return replace(
        outcome,
        best=best,
        ranked=tuple(every[: options.top]),
        runner_up_why=loses(by_mesh[1], best) if len(by_mesh) > 1 else "",
        meshes=by_mesh,
        pareto=tuple(every[index] for index in best_layouts.front(best_layouts.columns)),
        families=_in_order(losses),
    )


def _in_order(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Sort the families of layouts that are not the best: data parallel first, offload last."""
    return tuple(sorted(losses, key=lambda loss: -FAMILIES.index(loss.family)))


def _nothing_divides(training: Training, machine: Machine, refused: Mapping[str, int]) -> None:
    reasons = ", ".join(f"{_(reason)} {count}" for reason, count in sorted(refused.items())) or _(
        "no mesh at all"
    )
    raise WrightError.from_code(
        "plan-no-layout",
        _(
            "no layout of {model} on {gpus} GPUs divides its heads, layers and the global batch of {batch} "
            "(meshes refused: {reasons})",
            model=training.architecture.name,
            gpus=machine.gpus,
            batch=training.global_batch,
            reasons=reasons,
        ),
        _("use a number of GPUs and a global batch with more small factors, e.g. powers of 2"),
        exit_code=EXIT_USAGE,
    )


def loses(plan: Plan, best: Plan) -> str:
    """Return one sentence on why a layout is slower than the best: the part of its time that grew most.

    For a layout that is not slower it states that the order of ties decides.
    """
    total, least = float(plan.time.total), float(best.time.total)
    grown = {name: float(getattr(plan.time, name)) - float(getattr(best.time, name)) for name in TIME}
    name = max(grown, key=lambda part: grown[part])
    if grown[name] <= 0 or total <= least:
        return _("as fast as the best; listed after it by the order of ties")
    had = float(getattr(best.time, name))
    return _(
        "{slower:.1%} slower; {part}: {seconds:.3g} s of {total:.3g} s, in the best {best:.3g} s of {least:.3g} s",
        slower=total / least - 1,
        part=_(TIME[name]),
        seconds=had + grown[name],
        total=total,
        best=had,
        least=least,
    )


def too_large(plan: Plan) -> str:
    """Return one sentence on by how much a layout exceeds the GPU's memory, with its largest part."""
    total, have = float(plan.memory.total), plan.run.machine.gpu.usable_bytes
    largest = max(MEMORY, key=lambda name: float(getattr(plan.memory, name)))
    return _(
        "does not fit: {total}, {excess} more than a GPU has; largest part: {part}, {size}",
        total=gib(total),
        excess=gib(total - have),
        part=_(MEMORY[largest]),
        size=gib(float(getattr(plan.memory, largest))),
    )
