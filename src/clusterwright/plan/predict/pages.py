"""One prediction taken apart, as a page: the waterfall, and the memory of each stage against its limit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, legend, paragraphs, table
from clusterwright.plan.page.memory_bars import colour, memory_bars
from clusterwright.plan.page.sheet import MEMORY, sheet
from clusterwright.plan.page.waterfall import waterfall

if TYPE_CHECKING:
    from clusterwright.plan.predict.explained import Explained

_SHOWN = 8  # bars of stages


def page(found: Explained) -> str:
    """HTML of the whole page, English and Chinese."""
    run, total = found.run, float(found.time.total)
    name, gpus = run.training.architecture.name, f"{run.machine.gpus} x {run.machine.gpu.name}"
    figures = (
        Figure(f"{total:.4g}", "s", ("one iteration", "每步时间")),
        Figure(f"{found.low:.3g}-{found.high:.3g}", "s", ("in 8 of 10 cases", "八成情况下")),
        Figure(f"{found.tokens_per_s_per_gpu:,.0f}", "tokens/s", ("of one GPU", "每 GPU 吞吐")),
        Figure(f"{found.mfu:.1%}", "MFU", ("of the dense peak", "占峰值算力")),
    )
    headline = (f"{name} on {gpus}", f"{gpus} 上训练 {name}")
    return sheet(headline, figures, _sections(found), footer="; ".join(found.notes))


def _sections(found: Explained) -> list[Section]:
    stages = [(f"stage {index}", held) for index, held in enumerate(found.stages)][:_SHOWN]
    limit = found.run.machine.gpu.usable_bytes
    key = legend((colour(name), words) for name, words in MEMORY.items())
    rows = [
        (each.words, f"{-each.saved:+.1%}", f"{each.seconds:.4g} s", str(each.fit)) for each in found.changes
    ]
    help_most = table(("change", "time of a sample", "an iteration", "memory"), rows)
    return [
        Section(("Where the time goes", "时间去向"), drawn(partial(waterfall, found.time))),
        Section(("Memory of one GPU", "单卡显存"), drawn(partial(memory_bars, stages, limit), key)),
        Section(("What would help most", "最有效的改动"), help_most),
        Section(("What was inferred", "推断项"), paragraphs(found.notes or ("nothing",))),
    ]
