"""From what a search found to what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan.search.best_layouts import FAMILIES, plans, table
from clusterwright.plan.search.engine import Searcher, SearchState
from clusterwright.plan.search.meshes import meshes
from clusterwright.plan.search.outcome import Loss, Outcome, gib
from clusterwright.plan.search.remedies import remedies

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search.options import Options
    from clusterwright.plan.search.outcome import Plan


def answer(training: Training, machine: Machine, options: Options) -> Outcome:
    """The outcome of a search whose sizes are good; where nothing fits, with what would help.

    Raises:
        WrightError: nothing divides the model, the batch and the GPUs.
    """
    valid_meshes, refused = meshes(training, machine, options)
    searcher = Searcher(training, machine, options, valid_meshes)
    state = searcher.run()
    if not state.memory_filter.considered:
        _nothing_divides(training, machine, refused)
    outcome = Outcome(training, machine, options.stack, state.counts(dict(refused)))
    if state.best_layouts.columns:
        return _ranked(outcome, searcher, state, options)
    nearest = plans(searcher.plan, table(list(state.memory_filter.nearest.values())))
    losses = tuple(Loss(plan.family, plan, fits=False, reason=too_large(plan)) for plan in nearest)
    least = min(nearest, key=lambda plan: float(plan.memory.total))
    outcome = replace(outcome, nearest=least, families=_in_order(losses))
    if not options.advise:
        return outcome
    return replace(outcome, remedies=remedies(training, machine, replace(options, advise=False), answer))


def _ranked(outcome: Outcome, searcher: Searcher, state: SearchState, options: Options) -> Outcome:
    """With what fits, in order."""
    best_layouts, every = state.best_layouts, plans(searcher.plan, state.best_layouts.columns)
    best = every[0]
    by_mesh = tuple(every[index] for index in best_layouts.fastest_of("mesh")[: max(options.top, 2)])
    fitting = [every[index] for index in best_layouts.fastest_of("family")]
    oversized_cells = [
        cell for code, cell in state.memory_filter.nearest.items() if not state.memory_filter.fitted[code]
    ]
    oversized_plans = plans(searcher.plan, table(oversized_cells)) if oversized_cells else []
    losses = [
        Loss(plan.family, plan, fits=True, reason=loses(plan, best)) for plan in fitting if plan is not best
    ]
    losses += [Loss(plan.family, plan, fits=False, reason=too_large(plan)) for plan in oversized_plans]
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
    """The plainest family first."""
    return tuple(sorted(losses, key=lambda loss: -FAMILIES.index(loss.family)))


def _nothing_divides(training: Training, machine: Machine, refused: Mapping[str, int]) -> None:
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(refused.items())) or "no mesh at all"
    raise WrightError.from_code(
        "plan-no-layout",
        _(
            "no way to cut {architecture} over {gpus} GPUs divides its heads, layers and the "
            "batch of {global_batch} (meshes refused: {reasons})",
            architecture=training.architecture.name,
            gpus=machine.gpus,
            global_batch=training.global_batch,
            reasons=reasons,
        ),
        _("take a number of GPUs and a global batch with more small factors, e.g. powers of 2"),
        exit_code=EXIT_USAGE,
    )


PARTS = {
    "ideal": "the products themselves",
    "inefficiency": "matrix products below the peak",
    "recompute": "recomputation",
    "memory_bound": "operations bound by memory bandwidth",
    "tensor_parallel": "tensor-parallel communication",
    "context_parallel": "context-parallel communication",
    "expert_parallel": "expert-parallel communication",
    "pipeline_bubble": "pipeline bubbles",
    "pipeline_comm": "pipeline communication",
    "data_parallel": "data-parallel communication",
    "optimizer": "the optimiser's step",
    "input": "reading the input",
    "jitter": "stragglers",
}
MEMORY_LABELS = {
    "weights": "weights",
    "gradients": "gradients",
    "optimizer": "optimiser states",
    "activations": "activations",
    "transients": "logits, gathered parameters and buffers",
    "fragmentation": "fragmentation",
    "context": "CUDA context and NCCL buffers",
}


def loses(plan: Plan, best: Plan) -> str:
    """`8% slower: pipeline bubbles take 1.21 s more (0.30 s in the best)`."""
    total, least = float(plan.time.total), float(best.time.total)
    grown = {name: float(getattr(plan.time, name)) - float(getattr(best.time, name)) for name in PARTS}
    name = max(grown, key=lambda part: grown[part])
    if grown[name] <= 0 or total <= least:
        return "as fast; it comes after the best by its order alone"
    had = float(getattr(best.time, name))
    return (
        f"{100 * (total / least - 1):.1f}% slower: {PARTS[name]} {_verb(name)} {had + grown[name]:.3g} s of"
        f" {total:.3g} s, in the best {had:.3g} s of {least:.3g} s"
    )


def _verb(part: str) -> str:
    return "take" if PARTS[part].endswith("s") and part != "optimizer" else "takes"


def too_large(plan: Plan) -> str:
    """`does not fit: 120.3 GiB at the least, 45.8 GiB more than a GPU has; optimiser states hold 80.1 GiB`."""
    total, have = float(plan.memory.total), plan.run.machine.gpu.usable_bytes
    largest = max(MEMORY_LABELS, key=lambda name: float(getattr(plan.memory, name)))
    return (
        f"does not fit: {gib(total)} at the least, {gib(total - have)} more than a GPU has;"
        f" {MEMORY_LABELS[largest]} hold {gib(float(getattr(plan.memory, largest)))}"
    )
