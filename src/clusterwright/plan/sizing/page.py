"""The pictures of a size: scaling, memory, and everything that is bought."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, table
from clusterwright.plan.fabric.page import network
from clusterwright.plan.page.curves import Point, scaling
from clusterwright.plan.page.memory_bars import memory_bars
from clusterwright.plan.page.sheet import sheet
from clusterwright.plan.page.waterfall import waterfall
from clusterwright.plan.sizing.fewest import sized

if TYPE_CHECKING:
    from clusterwright.plan.sizing.answer import Answer
    from clusterwright.plan.sizing.fewest import Means, Sized
    from clusterwright.plan.sizing.materials import Materials


def page(answer: Answer, bought: Materials, means: Means) -> str:
    """The whole page as HTML; a few more sizes are planned for the curve."""
    found, total, money = answer.sized, bought.bill.total, bought.bill.currency
    model, gpu = found.workload.training.architecture.name, found.machine.gpu.name
    held, usable = [("GPU", found.cut.memory)], found.machine.gpu.usable_bytes
    parts = [(part.what, part.shown, part.why) for part in answer.parts]
    return sheet(
        (
            f"{model}: {found.hours:.3g} hours on {found.gpus} x {gpu}",
            f"{model}: {found.gpus} 张 {gpu}, 约 {found.hours:.3g} 小时",
        ),
        [
            Figure(f"{answer.nodes}", "nodes", ("to buy", "购置节点")),
            Figure(f"{found.hours:.3g}", "h", ("for one training", "单次训练")),
            Figure(f"{total.likely:,.0f}", money, ("for all of it", "总价")),
        ],
        [
            _scaling(found, means),
            Section(("Memory of one GPU", "单卡显存"), drawn(partial(memory_bars, held, usable))),
            Section(("One iteration", "单步耗时"), drawn(partial(waterfall, found.cut.time))),
            Section(("A node beside its GPUs", "节点配置"), table(("", "", "why"), parts)),
            *([network(bought.networks.compute)] if bought.networks else []),
            Section(("What is bought", "物料清单"), _bill(bought)),
        ],
        footer="wright plan size",
    )


def points(found: Sized, means: Means) -> Iterator[Point]:
    """Throughput from one node to twice what was found, doubling, where the training fits."""
    per_node = found.machine.gpus_per_node
    wanted = {found.nodes, *(2**power for power in range(math.ceil(math.log2(2 * found.nodes)) + 1))}
    for nodes in sorted(wanted):
        gpus = found.gpus if nodes == found.nodes else nodes * per_node
        one = (
            found
            if nodes == found.nodes
            else sized(found.workload, means.make(found.machine.gpu, gpus), means)
        )
        if one is not None:
            fast, slow = one.cut.span_s
            work = one.tokens_per_s * float(one.cut.time.total)
            yield Point(gpus, one.tokens_per_s, work / slow, work / fast)


def _scaling(found: Sized, means: Means) -> Section:
    curve = sorted(points(found, means), key=lambda each: each.gpus)
    return Section(("Scaling", "扩展曲线"), drawn(partial(scaling, curve, "tokens/s")))


def _bill(bought: Materials) -> str:
    heads = ("item", "count", bought.bill.currency, "from", "to", "")
    rows = [
        (
            line.item,
            f"{line.count}",
            *(
                (f"{each:,.0f}" for each in (line.total.likely, line.total.low, line.total.high))
                if line.total
                else ("no price", "", "")
            ),
            line.why,
        )
        for line in bought.bill.lines
    ]
    total = bought.bill.total
    return table(
        heads, [*rows, ("total", "", f"{total.likely:,.0f}", f"{total.low:,.0f}", f"{total.high:,.0f}", "")]
    )
