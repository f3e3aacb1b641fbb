"""HTML report of `wright plan cost`: yearly cost of owning and renting over hours of use, and all inputs."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, table
from clusterwright.i18n import _, bilingual
from clusterwright.plan.charts.curves import ChartLine, break_even
from clusterwright.plan.charts.sheet import sheet
from clusterwright.plan.cost import tornado

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Inputs
    from clusterwright.plan.cost.report import CostOption, Costs


def render_html(costs: Costs, inputs: Inputs, currency: str, title: str) -> str:
    """Render the cost report as an HTML page; `title`: the cluster, such as `4 x dgx-h100`."""
    owned, *rented = costs.options
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
            Figure(f"{costs.hours:,.0f}", "h", bilingual("of training per year")),
            Figure(f"{costs.purchase / 1e6:.3g}", f"M {currency}", bilingual("purchase")),
            Figure(f"{even:,.0f}" if even <= 8760 else _("never"), "h", bilingual("per year at break-even")),
        ],
        [_curves(costs, currency), _options(costs, currency), _drivers(costs, currency), _inputs(inputs)],
        footer="wright plan cost",
    )


def lines(costs: Costs) -> list[ChartLine]:
    """Return the lines of the chart of yearly cost over hours of use: one for owning, one for each rental option."""
    owned, *rented = costs.options
    owned_line = ChartLine(owned.name, costs.fixed_a_year, costs.energy_an_hour, owned=True)
    return [
        owned_line,
        *(ChartLine(option.name, 0.0, option.a_year / costs.hours, owned=False) for option in rented),
    ]


def _curves(costs: Costs, currency: str) -> Section:
    evens = [option.even.hours_a_year for option in costs.options if option.even and option.even.reachable]
    chart = partial(
        break_even, lines(costs), evens[0] if evens else None, _("{currency}/year", currency=currency)
    )
    return Section(bilingual("Cost over hours of use"), drawn(chart))


def _options(costs: Costs, currency: str) -> Section:
    heads = (
        "",
        f"{currency}/GPU-h",
        _("range"),
        _("{currency}/year", currency=currency),
        _("goodput"),
        _("break-even at h/year"),
    )
    return Section(bilingual("Options"), table(heads, [_option_row(option) for option in costs.options]))


def _option_row(option: CostOption) -> tuple[str, ...]:
    even = (
        ""
        if option.even is None
        else f"{option.even.hours_a_year:,.0f}"
        if option.even.reachable
        else _("never")
    )
    low, high = option.bounds
    return (
        _(option.name),
        f"{option.per_gpu_hour:.2f}",
        f"{low:.2f} - {high:.2f}",
        f"{option.a_year:,.0f}",
        f"{option.goodput:.1%}",
        even,
    )


def _drivers(costs: Costs, currency: str) -> Section:
    likely = costs.options[0].per_gpu_hour
    chart = partial(tornado.drawn, costs.drivers, likely, f"{currency}/GPU-h")
    return Section(bilingual("What determines the cost of an owned GPU-hour"), drawn(chart))


def _inputs(inputs: Inputs) -> Section:
    rows = [
        (
            name,
            f"{estimate.low:g}",
            f"{estimate.likely:g}",
            f"{estimate.high:g}",
            _(estimate.unit),
            _(estimate.source),
        )
        for name, estimate in inputs.items()
    ]
    heads = ("", _("low"), _("likely"), _("high"), _("unit"), _("source"))
    return Section(bilingual("Inputs"), table(heads, rows))
