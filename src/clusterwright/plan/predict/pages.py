"""HTML report of `wright plan explain`: waterfall of one iteration, memory by pipeline stage, possible changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, legend, paragraphs, table
from clusterwright.i18n import _, bilingual
from clusterwright.plan.charts.memory_bars import color, memory_bars
from clusterwright.plan.charts.sheet import MEMORY, sheet
from clusterwright.plan.charts.waterfall import waterfall
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.plan.predict.explained import Explained

_MAX_STAGES = 8  # pipeline stages that are drawn


def render_html(explanation: Explained) -> str:
    """Render an explained prediction as a bilingual HTML page."""
    run, total = explanation.run, float(explanation.time.total)
    name, gpus = run.training.architecture.name, f"{run.machine.gpus} x {run.machine.gpu.name}"
    figures = (
        Figure(f"{total:.4g}", "s", bilingual("per iteration")),
        Figure(f"{explanation.low:.3g}-{explanation.high:.3g}", "s", bilingual("in 8 of 10 cases")),
        Figure(f"{explanation.tokens_per_s_per_gpu:,.0f}", "tokens/s", bilingual("per GPU")),
        Figure(f"{explanation.mfu:.1%}", "MFU", bilingual("of dense peak")),
    )
    headline = bilingual("{model} on {gpus}", model=name, gpus=gpus)
    return sheet(headline, figures, _sections(explanation), footer="; ".join(explanation.notes))


def _sections(explanation: Explained) -> list[Section]:
    stages = [
        (_("stage {index}", index=index), stage_memory)
        for index, stage_memory in enumerate(explanation.stages[:_MAX_STAGES])
    ]
    limit = explanation.run.machine.gpu.usable_bytes
    key = legend((color(name), bilingual(label)) for name, label in MEMORY.items())
    rows = [
        (change.description, f"{-change.saved:+.1%}", human_duration(change.seconds), _(change.memory_fit))
        for change in explanation.changes
    ]
    heads = (_("change"), _("time per sample"), _("iteration"), _("memory"))
    return [
        Section(bilingual("Where the time goes"), drawn(partial(waterfall, explanation.time))),
        Section(bilingual("Memory of one GPU"), drawn(partial(memory_bars, stages, limit), key)),
        Section(bilingual("What would help most"), table(heads, rows)),
        Section(bilingual("What was inferred"), paragraphs(explanation.notes or (_("nothing"),))),
    ]
