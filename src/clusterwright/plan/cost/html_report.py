"""The picture of a cost: years of owning and of renting by their hours, and all figures below."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, table
from clusterwright.i18n import bilingual
from clusterwright.plan.charts.curves import Line, break_even
from clusterwright.plan.charts.sheet import sheet
from clusterwright.plan.cost import tornado

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Inputs
    from clusterwright.plan.cost.report import CostOption, Costs


def render_html(costs: Costs, inputs: Inputs, currency: str, title: str) -> str:
    """The whole page as HTML; `title`: the cluster in words."""
    owned, *rented = costs.ways
    demand = rented[0]
    even = demand.even.hours_a_year if demand.even else math.inf
    headline = bilingual(
        "{cluster}: {owned:.2f} {currency} per GPU-hour owned, {rented:.2f} rented",
        cluster=title,
        owned=owned.per_gpu_hour,
        rented=demand.per_gpu_hour,
        currency=currency,
    )
    return sheet(
        headline,
        [
            Figure(f"{costs.hours:,.0f}", "h", bilingual("training a year")),
            Figure(f"{costs.purchase / 1e6:.3g}", f"M {currency}", bilingual("to buy")),
            Figure(f"{even:,.0f}" if even <= 8760 else "never", "h", bilingual("break-even a year")),
        ],
        [_curves(costs, currency), _options(costs, currency), _drivers(costs, currency), _inputs(inputs)],
        footer="wright plan cost",
    )


def lines(costs: Costs) -> list[Line]:
    """A year by its hours, each way."""
    owned, *rented = costs.ways
    owned_line = Line(owned.name, costs.fixed_a_year, costs.energy_an_hour, owned=True)
    return [
        owned_line,
        *(Line(option.name, 0.0, option.a_year / costs.hours, owned=False) for option in rented),
    ]


def _curves(costs: Costs, currency: str) -> Section:
    evens = [option.even.hours_a_year for option in costs.ways if option.even and option.even.reachable]
    chart = partial(break_even, lines(costs), evens[0] if evens else None, f"{currency}/year")
    return Section(bilingual("Cost against hours"), drawn(chart))


def _options(costs: Costs, currency: str) -> Section:
    heads = ("", f"{currency}/GPU-h", "from - to", f"{currency}/year", "goodput", "even at h/year")
    return Section(bilingual("Each way"), table(heads, [_option_row(option) for option in costs.ways]))


def _option_row(option: CostOption) -> tuple[str, ...]:
    even = (
        ""
        if option.even is None
        else f"{option.even.hours_a_year:,.0f}"
        if option.even.reachable
        else "never"
    )
    low, high = option.bounds
    return (
        option.name,
        f"{option.per_gpu_hour:.2f}",
        f"{low:.2f} - {high:.2f}",
        f"{option.a_year:,.0f}",
        f"{option.goodput:.1%}",
        even,
    )


def _drivers(costs: Costs, currency: str) -> Section:
    likely = costs.ways[0].per_gpu_hour
    chart = partial(tornado.drawn, costs.drivers, likely, f"{currency}/GPU-h")
    return Section(bilingual("What drives an owned hour"), drawn(chart))


def _inputs(inputs: Inputs) -> Section:
    rows = [
        (
            name,
            f"{estimate.low:g}",
            f"{estimate.likely:g}",
            f"{estimate.high:g}",
            estimate.unit,
            estimate.source,
        )
        for name, estimate in inputs.items()
    ]
    return Section(bilingual("Every input"), table(("", "low", "likely", "high", "unit", "source"), rows))
