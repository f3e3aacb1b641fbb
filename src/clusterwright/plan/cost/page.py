"""The picture of a cost: years of owning and of renting by their hours, and all figures below."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, table
from clusterwright.plan.cost import tornado
from clusterwright.plan.page.curves import Line, break_even
from clusterwright.plan.page.sheet import sheet

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Inputs
    from clusterwright.plan.cost.report import Costs, Way


def page(found: Costs, inputs: Inputs, currency: str, what: str) -> str:
    """The whole page as HTML; `what`: the cluster in words."""
    owned, *rented = found.ways
    demand = rented[0]
    even = demand.even.hours_a_year if demand.even else math.inf
    headline = (
        f"{what}: {owned.per_gpu_hour:.2f} {currency} a GPU-hour owned, {demand.per_gpu_hour:.2f} rented"
    )
    return sheet(
        (headline, f"每卡时成本 {currency}: 自建 {owned.per_gpu_hour:.2f}, 租用 {demand.per_gpu_hour:.2f}"),
        [
            Figure(f"{found.hours:,.0f}", "h", ("training a year", "每年训练时长")),
            Figure(f"{found.purchase / 1e6:.3g}", f"M {currency}", ("to buy", "购置")),
            Figure(f"{even:,.0f}" if even <= 8760 else "never", "h", ("break-even a year", "每年盈亏平衡")),
        ],
        [_curves(found, currency), _ways(found, currency), _drivers(found, currency), _inputs(inputs)],
        footer="wright plan cost",
    )


def lines(found: Costs) -> list[Line]:
    """A year by its hours, each way."""
    owned, *rented = found.ways
    mine = Line(owned.name, found.fixed_a_year, found.energy_an_hour, owned=True)
    return [mine, *(Line(way.name, 0.0, way.a_year / found.hours, owned=False) for way in rented)]


def _curves(found: Costs, currency: str) -> Section:
    evens = [way.even.hours_a_year for way in found.ways if way.even and way.even.reachable]
    picture = partial(break_even, lines(found), evens[0] if evens else None, f"{currency}/year")
    return Section(("Cost against hours", "成本与使用时长"), drawn(picture))


def _ways(found: Costs, currency: str) -> Section:
    heads = ("", f"{currency}/GPU-h", "from - to", f"{currency}/year", "goodput", "even at h/year")
    return Section(("Each way", "各种方式"), table(heads, [_way(way) for way in found.ways]))


def _way(way: Way) -> tuple[str, ...]:
    even = "" if way.even is None else f"{way.even.hours_a_year:,.0f}" if way.even.reachable else "never"
    low, high = way.bounds
    return (
        way.name,
        f"{way.per_gpu_hour:.2f}",
        f"{low:.2f} - {high:.2f}",
        f"{way.a_year:,.0f}",
        f"{way.goodput:.1%}",
        even,
    )


def _drivers(found: Costs, currency: str) -> Section:
    likely = found.ways[0].per_gpu_hour
    picture = partial(tornado.drawn, found.drivers, likely, f"{currency}/GPU-h")
    return Section(("What drives an owned hour", "自建成本的主要因素"), drawn(picture))


def _inputs(inputs: Inputs) -> Section:
    rows = [
        (name, f"{each.low:g}", f"{each.likely:g}", f"{each.high:g}", each.unit, each.source)
        for name, each in inputs.items()
    ]
    return Section(("Every input", "全部输入"), table(("", "low", "likely", "high", "unit", "source"), rows))
