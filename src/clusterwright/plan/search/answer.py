"""From what a search found to what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.plan.memory import peak
from clusterwright.plan.run import Layout, Run
from clusterwright.plan.search.engine import SCHEDULES, Found, Searcher
from clusterwright.plan.search.kept import FAMILIES
from clusterwright.plan.search.meshes import meshes
from clusterwright.plan.search.outcome import Loss, Outcome, Plan
from clusterwright.plan.search.remedies import remedies
from clusterwright.plan.search.space import CHOICES, FIELDS
from clusterwright.plan.search.why import loses, too_large
from clusterwright.plan.speed import iteration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options


def answer(training: Training, machine: Machine, options: Options) -> Outcome:
    """The outcome of a search whose sizes are good; where nothing fits, with what would help.

    Raises:
        WrightError: nothing divides the model, the batch and the GPUs.
    """
    found_meshes, refused = meshes(training, machine, options)
    searcher = Searcher(training, machine, options, found_meshes)
    found = searcher.run()
    if not found.considered:
        _nothing_divides(training, machine, refused)
    outcome = Outcome(training, machine, options.stack, found.counts(dict(refused)))
    if not found.kept.columns:
        nearest = min(found.nearest.values(), key=lambda cell: float(cell["memory"]))
        outcome = replace(outcome, nearest=_plan(searcher, nearest), families=_losses(searcher, found, None))
        return (
            replace(outcome, remedies=remedies(training, machine, replace(options, advise=False), answer))
            if options.advise
            else outcome
        )
    ranked = _plans(searcher, found, found.kept.fastest(options.top))
    by_mesh = _plans(searcher, found, found.kept.fastest_of("mesh")[: max(options.top, 2)])
    return replace(
        outcome,
        best=ranked[0],
        ranked=ranked,
        runner_up_why=loses(by_mesh[1], ranked[0]) if len(by_mesh) > 1 else "",
        meshes=by_mesh,
        pareto=_plans(searcher, found, found.kept.front(found.kept.columns)),
        families=_losses(searcher, found, ranked[0]),
    )


def _nothing_divides(training: Training, machine: Machine, refused: Mapping[str, int]) -> None:
    reasons = ", ".join(f"{what} {count}" for what, count in sorted(refused.items())) or "no mesh at all"
    raise WrightError.of(
        "plan-no-layout",
        f"no way to cut {training.architecture.name} over {machine.gpus} GPUs divides its heads, layers and the batch"
        f" of {training.global_batch} (meshes refused: {reasons})",
        "take a number of GPUs and a global batch with more small factors, e.g. powers of 2",
        exit_code=EXIT_USAGE,
    )


def _plans(searcher: Searcher, found: Found, where: Iterable[int]) -> tuple[Plan, ...]:
    columns = found.kept.columns
    return tuple(_plan(searcher, {name: column[at] for name, column in columns.items()}) for at in where)


def _plan(searcher: Searcher, cell: Mapping[str, Any]) -> Plan:
    """One layout, predicted anew with plain numbers."""
    whole: dict[str, Any] = {name: int(cell[name]) for name in (*FIELDS, *CHOICES)}
    run: Run = searcher.plan(Layout(**whole, schedule=SCHEDULES[int(cell["schedule"])]))
    return Plan(run, FAMILIES[int(cell["family"])], iteration(run), peak(run))


def _losses(searcher: Searcher, found: Found, best: Plan | None) -> tuple[Loss, ...]:
    """Every other family with a layout, in the order of Family."""
    kept = found.kept
    fitting = {
        plan.family: plan
        for plan in _plans(searcher, found, kept.fastest_of("family"))
        if best is None or plan.family is not best.family
    }
    losses = {
        family: Loss(family, plan, fits=True, why=loses(plan, best))
        for family, plan in fitting.items()
        if best
    }
    for code, cell in found.nearest.items():
        family = FAMILIES[code]
        if family not in fitting and (best is None or family is not best.family):
            plan = _plan(searcher, cell)
            losses[family] = Loss(family, plan, fits=False, why=too_large(plan))
    return tuple(losses[family] for family in reversed(FAMILIES) if family in losses)
