"""One prediction taken apart, as a page: the waterfall, and the memory of each stage against its limit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, legend, paragraphs, table
from clusterwright.plan.charts.memory_bars import colour, memory_bars
from clusterwright.plan.charts.sheet import MEMORY, sheet
from clusterwright.plan.charts.waterfall import waterfall

if TYPE_CHECKING:
    from clusterwright.plan.predict.explained import Explained

_MAX_STAGES = 8  # bars of stages


def render_html(explanation: Explained) -> str:
    """HTML of the whole page, English and Chinese."""
    run, total = explanation.run, float(explanation.time.total)
    name, gpus = run.training.architecture.name, f"{run.machine.gpus} x {run.machine.gpu.name}"
    figures = (
        Figure(f"{total:.4g}", "s", ("one iteration", "每步时间")),
        Figure(f"{explanation.low:.3g}-{explanation.high:.3g}", "s", ("in 8 of 10 cases", "八成情况下")),
        Figure(f"{explanation.tokens_per_s_per_gpu:,.0f}", "tokens/s", ("of one GPU", "每 GPU 吞吐")),
        Figure(f"{explanation.mfu:.1%}", "MFU", ("of the dense peak", "占峰值算力")),
    )
    headline = (f"{name} on {gpus}", f"{gpus} 上训练 {name}")
    return sheet(headline, figures, _sections(explanation), footer="; ".join(explanation.notes))


def _sections(explanation: Explained) -> list[Section]:
    stages = [(f"stage {index}", stage_memory) for index, stage_memory in enumerate(explanation.stages)][
        :_MAX_STAGES
    ]
    limit = explanation.run.machine.gpu.usable_bytes
    key = legend((colour(name), labels) for name, labels in MEMORY.items())
    rows = [
        (change.words, f"{-change.saved:+.1%}", f"{change.seconds:.4g} s", str(change.fit))
        for change in explanation.changes
    ]
    help_most = table(("change", "time of a sample", "an iteration", "memory"), rows)
    return [
        Section(("Where the time goes", "时间去向"), drawn(partial(waterfall, explanation.time))),
        Section(("Memory of one GPU", "单卡显存"), drawn(partial(memory_bars, stages, limit), key)),
        Section(("What would help most", "最有效的改动"), help_most),
        Section(("What was inferred", "推断项"), paragraphs(explanation.notes or ("nothing",))),
    ]
