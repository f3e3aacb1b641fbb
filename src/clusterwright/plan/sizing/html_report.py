"""HTML report of `wright plan size`: scaling, memory, iteration, parts of a node, network and bill of materials."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, table
from clusterwright.i18n import _, bilingual
from clusterwright.plan.charts.curves import Point, scaling
from clusterwright.plan.charts.memory_bars import memory_bars
from clusterwright.plan.charts.sheet import sheet
from clusterwright.plan.charts.waterfall import waterfall
from clusterwright.plan.fabric.html_report import network
from clusterwright.plan.sizing.fewest import sized
from clusterwright.units import human_number

if TYPE_CHECKING:
    from clusterwright.plan.sizing.answer import Answer
    from clusterwright.plan.sizing.fewest import Assumptions, Sized
    from clusterwright.plan.sizing.materials import Materials


def render_html(answer: Answer, bought: Materials, assumptions: Assumptions) -> str:
    """Return the HTML page of a size: scaling, memory, one iteration, parts and bill of materials.

    More sizes are planned for the scaling curve.
    """
    result, total, money = answer.sized, bought.bill.total, bought.bill.currency
    model, gpu = result.workload.training.architecture.name, result.machine.gpu.name
    memory_rows, usable = [("GPU", result.planned_layout.memory)], result.machine.gpu.usable_bytes
    parts = [(part.label, part.text, part.reason) for part in answer.parts]
    return sheet(
        bilingual(
            "{model}: {hours} hours on {count} x {gpu}",
            model=model,
            hours=human_number(result.hours),
            count=result.gpus,
            gpu=gpu,
        ),
        [
            Figure(f"{answer.nodes}", "", bilingual("nodes")),
            Figure(f"{result.hours:.3g}", "h", bilingual("per training")),
            Figure(f"{total.likely:,.0f}", money, bilingual("total cost")),
        ],
        [
            _scaling(result, assumptions),
            Section(bilingual("Memory of one GPU"), drawn(partial(memory_bars, memory_rows, usable))),
            Section(bilingual("One iteration"), drawn(partial(waterfall, result.planned_layout.time))),
            Section(bilingual("Parts of a node besides its GPUs"), table(("", "", _("reason")), parts)),
            *([network(bought.networks.compute)] if bought.networks else []),
            Section(bilingual("Bill of materials"), _bill(bought)),
        ],
        footer="wright plan size",
    )


def points(result: Sized, assumptions: Assumptions) -> Iterator[Point]:
    """Yield predicted throughput for 1, 2, 4 ... nodes to at least twice the result, and for the result itself.

    Sizes at which the training does not fit are left out.
    """
    per_node = result.machine.gpus_per_node
    node_counts = {result.nodes, *(2**power for power in range(math.ceil(math.log2(2 * result.nodes)) + 1))}
    for nodes in sorted(node_counts):
        gpus = result.gpus if nodes == result.nodes else nodes * per_node
        size = (
            result
            if nodes == result.nodes
            else sized(result.workload, assumptions.make(result.machine.gpu, gpus), assumptions)
        )
        if size is not None:
            fast, slow = size.planned_layout.span_s
            work = size.tokens_per_s * float(size.planned_layout.time.total)
            yield Point(gpus, size.tokens_per_s, work / slow, work / fast)


def _scaling(result: Sized, assumptions: Assumptions) -> Section:
    curve = sorted(points(result, assumptions), key=lambda point: point.gpus)
    return Section(bilingual("Scaling"), drawn(partial(scaling, curve, "tokens/s")))


def _bill(bought: Materials) -> str:
    heads = (_("item"), _("count"), bought.bill.currency, _("low"), _("high"), "")
    rows = [
        (
            line.item,
            f"{line.count}",
            *(
                (f"{amount:,.0f}" for amount in (line.total.likely, line.total.low, line.total.high))
                if line.total
                else (_("no price"), "", "")
            ),
            line.reason,
        )
        for line in bought.bill.lines
    ]
    total = bought.bill.total
    return table(
        heads,
        [*rows, (_("total"), "", f"{total.likely:,.0f}", f"{total.low:,.0f}", f"{total.high:,.0f}", "")],
    )
