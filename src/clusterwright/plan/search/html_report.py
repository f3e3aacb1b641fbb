"""HTML report of `wright plan search`: scatter of layouts, time and memory of the best, why others lose."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, legend, paragraphs, table
from clusterwright.i18n import _, bilingual
from clusterwright.plan.charts.curves import Dot, scatter
from clusterwright.plan.charts.memory_bars import color, memory_bars
from clusterwright.plan.charts.sheet import MEMORY, sheet
from clusterwright.plan.charts.waterfall import waterfall
from clusterwright.plan.search.outcome import LayoutFamily, format_layout, format_mesh, gib
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.plan.search.outcome import Plan, SearchOutcome

# CSS classes of dots, and of the same colors in a legend; surplus families share the last.
_DOTS = ("f0", "f1", "f2", "f3", "f4", "f5")
_KEYS = ("part-5", "part-2", "part-4", "part-0", "part-6", "part-3")


def render_html(outcome: SearchOutcome) -> str:
    """Render a search as a bilingual HTML page, also if nothing fits."""
    name, on = outcome.training.architecture.name, outcome.machine
    machines = f"{on.gpus} x {on.gpu.name}"
    headline = bilingual("Layouts of {model} on {machines}", model=name, machines=machines)
    footer = _(
        "{count:,} layouts, {too_large:,} of them too large; sequence length {seq_len}, global batch {batch}",
        count=outcome.counts.considered,
        too_large=outcome.counts.too_large,
        seq_len=outcome.training.seq_len,
        batch=outcome.training.global_batch,
    )
    if outcome.best is None:
        return sheet(headline, (), _nothing(outcome), footer=footer)
    return sheet(headline, _figures(outcome.best), _sections(outcome, outcome.best), footer=footer)


def _figures(best: Plan) -> tuple[Figure, ...]:
    return (
        Figure(format_mesh(best.run.layout), "", bilingual("fastest layout")),
        Figure(f"{float(best.time.total):.4g}", "s", bilingual("per iteration")),
        Figure(f"{best.tokens_per_s_per_gpu:,.0f}", "tokens/s", bilingual("per GPU")),
        Figure(f"{best.utilization:.1%}", "MFU", bilingual("of dense peak")),
    )


def _sections(outcome: SearchOutcome, best: Plan) -> list[Section]:
    limit = outcome.machine.gpu.usable_bytes
    plans = {format_layout(plan.run.layout): plan for plan in _plotted_plans(outcome)}
    present = [family for family in LayoutFamily if family in {plan.family for plan in plans.values()}]
    colors = {family: min(index, len(_DOTS) - 1) for index, family in enumerate(present)}
    key = legend((_KEYS[index], bilingual(family.value)) for family, index in colors.items())
    dots = [
        Dot(name, float(plan.time.total), float(plan.memory.total), _DOTS[colors[plan.family]])
        for name, plan in plans.items()
    ]
    rows = [
        (
            format_layout(mesh_plan.run.layout),
            human_duration(float(mesh_plan.time.total)),
            gib(float(mesh_plan.memory.total)),
        )
        for mesh_plan in outcome.meshes
    ]
    return [
        Section(bilingual("Time over memory"), drawn(partial(scatter, dots, limit), key)),
        Section(bilingual("Where the time goes"), drawn(partial(waterfall, best.time))),
        Section(bilingual("Memory of the GPU that uses most"), _memory(best, limit)),
        Section(
            bilingual("Fastest layout of each mesh"), table((_("layout"), _("iteration"), _("memory")), rows)
        ),
        Section(bilingual("Why not the others"), _why(outcome)),
    ]


def _nothing(outcome: SearchOutcome) -> list[Section]:
    """Return the sections of a search in which nothing fits: the missing memory, and remedies."""
    bars = [_memory(outcome.nearest, outcome.machine.gpu.usable_bytes)] if outcome.nearest else []
    return [
        *(Section(bilingual("Nothing fits; layout with least memory"), bar) for bar in bars),
        Section(bilingual("What would help"), paragraphs(outcome.remedies or (_("no remedy found"),))),
        Section(bilingual("Families"), _why(outcome)),
    ]


def _plotted_plans(outcome: SearchOutcome) -> list[Plan]:
    fitting = [loss.plan for loss in outcome.families]
    return [*outcome.ranked, *outcome.meshes, *outcome.pareto, *fitting]


def _memory(plan: Plan, limit: float) -> str:
    key = legend((color(name), bilingual(label)) for name, label in MEMORY.items())
    return drawn(partial(memory_bars, [(format_mesh(plan.run.layout), plan.memory)], limit), key)


def _why(outcome: SearchOutcome) -> str:
    rows = [(_(loss.family), format_layout(loss.plan.run.layout), loss.reason) for loss in outcome.families]
    return table(
        (_("family"), _("fastest, or with least memory"), _("why this layout is not the best")), rows
    )
