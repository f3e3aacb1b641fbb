"""A search as a page: the layouts as a cloud, the best one's time and memory, and why the others lose."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, legend, paragraphs, table
from clusterwright.plan.charts.curves import Dot, scatter
from clusterwright.plan.charts.memory_bars import colour, memory_bars
from clusterwright.plan.charts.sheet import MEMORY, sheet
from clusterwright.plan.charts.waterfall import waterfall
from clusterwright.plan.search.outcome import Family, format_layout, format_mesh, gib

if TYPE_CHECKING:
    from clusterwright.plan.search.outcome import Outcome, Plan

_CHINESE = {
    Family.REPLICATED: "数据并行",
    Family.SHARDED: "分片数据并行",
    Family.TENSOR: "张量并行",
    Family.PIPELINE: "流水线并行",
    Family.TENSOR_PIPELINE: "三维并行",
    Family.CONTEXT: "上下文并行",
    Family.EXPERT: "专家并行",
    Family.OFFLOAD: "卸载到内存",
}
# The sheet's colours of dots, and the same colours in a key; more families than colours share the last.
_DOTS = ("f0", "f1", "f2", "f3", "f4", "f5")
_KEYS = ("part-5", "part-2", "part-4", "part-0", "part-6", "part-3")


def render_html(outcome: Outcome) -> str:
    """HTML of the whole page, English and Chinese; also of a search in which nothing fits."""
    name, on = outcome.training.architecture.name, outcome.machine
    machines = f"{on.gpus} x {on.gpu.name}"
    headline = (f"Layouts of {name} on {machines}", f"{machines} 上 {name} 的并行方案")
    footer = (
        f"{outcome.counts.considered:,} layouts, {outcome.counts.too_large:,} of them too large;"
        f" sequence {outcome.training.seq_len}, global batch {outcome.training.global_batch}"
    )
    if outcome.best is None:
        return sheet(headline, (), _nothing(outcome), footer=footer)
    return sheet(headline, _figures(outcome.best), _sections(outcome, outcome.best), footer=footer)


def _figures(best: Plan) -> tuple[Figure, ...]:
    return (
        Figure(format_mesh(best.run.layout), "", ("the fastest layout", "最快方案")),
        Figure(f"{float(best.time.total):.4g}", "s", ("one iteration", "每步时间")),
        Figure(f"{best.tokens_per_s_per_gpu:,.0f}", "tokens/s", ("of one GPU", "每 GPU 吞吐")),
        Figure(f"{best.utilization:.1%}", "MFU", ("of the dense peak", "占峰值算力")),
    )


def _sections(outcome: Outcome, best: Plan) -> list[Section]:
    limit = outcome.machine.gpu.usable_bytes
    plans = {format_layout(plan.run.layout): plan for plan in _plotted_plans(outcome)}
    present = [family for family in _CHINESE if family in {plan.family for plan in plans.values()}]
    colours = {family: min(index, len(_DOTS) - 1) for index, family in enumerate(present)}
    key = legend((_KEYS[index], (str(family), _CHINESE[family])) for family, index in colours.items())
    dots = [
        Dot(name, float(plan.time.total), float(plan.memory.total), _DOTS[colours[plan.family]])
        for name, plan in plans.items()
    ]
    rows = [
        (
            format_layout(mesh_plan.run.layout),
            f"{float(mesh_plan.time.total):.4g} s",
            gib(float(mesh_plan.memory.total)),
        )
        for mesh_plan in outcome.meshes
    ]
    return [
        Section(("Speed against memory", "速度与显存"), drawn(partial(scatter, dots, limit), key)),
        Section(("Where the time goes", "时间去向"), drawn(partial(waterfall, best.time))),
        Section(("Memory of the fullest GPU", "显存最高的 GPU"), _memory(best, limit)),
        Section(
            ("The fastest of each mesh", "各网格最快方案"), table(("layout", "iteration", "memory"), rows)
        ),
        Section(("Why not the others", "其他方案为何更慢"), _why(outcome)),
    ]


def _nothing(outcome: Outcome) -> list[Section]:
    """How much is lacking, and what would help."""
    bars = [_memory(outcome.nearest, outcome.machine.gpu.usable_bytes)] if outcome.nearest else []
    return [
        *(Section(("Nothing fits: the nearest", "均超出显存: 最接近的方案"), bar) for bar in bars),
        Section(
            ("What would help", "可行的办法"), paragraphs(outcome.remedies or ("nothing that was tried",))
        ),
        Section(("Each family", "各类方案"), _why(outcome)),
    ]


def _plotted_plans(outcome: Outcome) -> list[Plan]:
    fitting = [loss.plan for loss in outcome.families]
    return [*outcome.ranked, *outcome.meshes, *outcome.pareto, *fitting]


def _memory(plan: Plan, limit: float) -> str:
    key = legend((colour(name), labels) for name, labels in MEMORY.items())
    return drawn(partial(memory_bars, [(format_mesh(plan.run.layout), plan.memory)], limit), key)


def _why(outcome: Outcome) -> str:
    rows = [(str(loss.family), format_layout(loss.plan.run.layout), loss.why) for loss in outcome.families]
    return table(("family", "its fastest, or smallest", "why it is not the best"), rows)
