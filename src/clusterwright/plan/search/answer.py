"""From what a search found to what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.plan.search.engine import Found, Searcher
from clusterwright.plan.search.kept import FAMILIES
from clusterwright.plan.search.meshes import meshes
from clusterwright.plan.search.outcome import Loss, Outcome
from clusterwright.plan.search.plans import plans, table
from clusterwright.plan.search.remedies import remedies
from clusterwright.plan.search.why import loses, too_large

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
    if not found.room.considered:
        _nothing_divides(training, machine, refused)
    outcome = Outcome(training, machine, options.stack, found.counts(dict(refused)))
    if found.kept.columns:
        return _ranked(outcome, searcher, found, options)
    nearest = plans(searcher.plan, table(list(found.room.nearest.values())))
    losses = tuple(Loss(plan.family, plan, fits=False, why=too_large(plan)) for plan in nearest)
    least = min(nearest, key=lambda plan: float(plan.memory.total))
    outcome = replace(outcome, nearest=least, families=_in_order(losses))
    if not options.advise:
        return outcome
    return replace(outcome, remedies=remedies(training, machine, replace(options, advise=False), answer))


def _ranked(outcome: Outcome, searcher: Searcher, found: Found, options: Options) -> Outcome:
    """With what fits, in order."""
    kept, every = found.kept, plans(searcher.plan, found.kept.columns)
    best = every[0]
    by_mesh = tuple(every[at] for at in kept.fastest_of("mesh")[: max(options.top, 2)])
    fitting = [every[at] for at in kept.fastest_of("family")]
    never = [cell for code, cell in found.room.nearest.items() if not found.room.fitted[code]]
    too_much = plans(searcher.plan, table(never)) if never else []
    losses = [
        Loss(plan.family, plan, fits=True, why=loses(plan, best)) for plan in fitting if plan is not best
    ]
    losses += [Loss(plan.family, plan, fits=False, why=too_large(plan)) for plan in too_much]
    return replace(
        outcome,
        best=best,
        ranked=tuple(every[: options.top]),
        runner_up_why=loses(by_mesh[1], best) if len(by_mesh) > 1 else "",
        meshes=by_mesh,
        pareto=tuple(every[at] for at in kept.front(kept.columns)),
        families=_in_order(losses),
    )


def _in_order(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """The plainest family first."""
    return tuple(sorted(losses, key=lambda loss: -FAMILIES.index(loss.family)))


def _nothing_divides(training: Training, machine: Machine, refused: Mapping[str, int]) -> None:
    reasons = ", ".join(f"{what} {count}" for what, count in sorted(refused.items())) or "no mesh at all"
    raise WrightError.of(
        "plan-no-layout",
        f"no way to cut {training.architecture.name} over {machine.gpus} GPUs divides its heads, layers and the batch"
        f" of {training.global_batch} (meshes refused: {reasons})",
        "take a number of GPUs and a global batch with more small factors, e.g. powers of 2",
        exit_code=EXIT_USAGE,
    )
