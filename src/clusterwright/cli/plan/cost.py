"""`wright plan cost`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from math import isfinite, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from clusterwright.cli._live_names import GPUS
from clusterwright.cli._quantities import Figures
from clusterwright.cli._show import show_heading, show_json, show_note, show_table, show_text
from clusterwright.cli.plan._inputs import NODES, RentOptions, show_rates, write_table
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.records import ExchangeRate, Gpu
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.cost.clouds import CloudOffer
    from clusterwright.plan.cost.cost import ClusterCost
    from clusterwright.plan.cost.report import CostOption, Costs


_MARKET = RentOptions()


def cost(
    *,
    gpu: Annotated[str, GPUS],
    nodes: Annotated[int, Parameter(validator=NODES)],
    hours: Annotated[float, Parameter(validator=Number(gt=0, lte=8760))] = 5000,
    figure: Figures = (),
    rent_options: Annotated[RentOptions, Parameter(name="*")] = _MARKET,
    catalog: Path | None = None,
    html: Path | None = None,
    json: bool = False,
) -> int:
    """Compare the cost of owning and renting a cluster: money per GPU hour, break-even, and the main cost drivers.

    Every figure has a low, a likely and a high value and a source; --json shows them all.

    Parameters
    ----------
    gpu
        GPU of the catalog; the cheapest server with it is used.
    nodes
        Number of servers.
    hours
        Hours of training per year, of 8760.
    figure
        Your own figure as NAME=LOW:LIKELY:HIGH or NAME=VALUE; repeatable.
    catalog
        File with your own GPUs, servers and prices.
    html
        Write a report to this HTML file: cost by hours with the break-even.
    json
        Print one JSON document with all inputs and sources.
    """
    from clusterwright.plan import cost as compare_costs
    from clusterwright.plan.cost.clouds import cloud_offers
    from clusterwright.plan.cost.html_report import render_html
    from clusterwright.plan.cost.record import record

    gpu_record, user_catalog, user_rate, rates = _read_prices(gpu, rent_options, catalog)
    result = compare_costs(gpu, nodes, hours=hours, figures=figure, catalog=user_catalog)
    offers = cloud_offers(gpu_record, result.gathered.currency, user_rate)
    today = date.today().isoformat()  # noqa: DTZ011 (a day, like the dates of prices)
    if html:
        write_table(html, render_html(result.costs, result.values, result.gathered.currency, result.title))
    if json:
        show_json(finite(record(result, offers, rates, today)))
    else:
        show(result, today)
        _show_clouds(offers)
        show_rates(rates)
    return 0


def _read_prices(
    gpu: str, rent_options: RentOptions, catalog: Path | None
) -> tuple[Gpu, UserCatalog | None, ExchangeRate | None, list[str]]:
    """Return the GPU, the catalog in the requested currency and cloud, the user's exchange rate, and rates as texts.

    Raises:
        WrightError: no GPU or cloud has the name, or the rate is invalid.
    """
    from clusterwright.catalog import gpu as find_gpu
    from clusterwright.catalog.exchange import BASE
    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.cli.plan._inputs import read_money
    from clusterwright.plan.cost.clouds import with_cloud

    user_catalog, user_rate, rates = read_money(rent_options, load_user_catalog(catalog))
    record = find_gpu(gpu, user_catalog)
    if rent_options.cloud:
        currency = rent_options.code or BASE
        user_catalog = with_cloud(user_catalog, record, rent_options.cloud, currency, user_rate)
    return record, user_catalog, user_rate, rates


def show(result: ClusterCost, today: str) -> None:
    """Print the cost of owning and renting on stdout and warnings on stderr."""
    costs, money = result.costs, result.gathered.currency
    gpus = result.nodes * result.gathered.server.gpus
    show_text(
        _(
            "{cluster} ({gpus} GPUs), {hours:,.0f} h of training per year; purchase {purchase:,.0f} {currency}, "
            "fixed cost {fixed:,.0f} {currency} per year, energy {energy:,.2f} {currency} per hour of training",
            cluster=result.title,
            gpus=gpus,
            hours=costs.hours,
            purchase=costs.purchase,
            currency=money,
            fixed=costs.fixed_a_year,
            energy=costs.energy_an_hour,
        )
    )
    _show_costs(costs, money)
    low, likely, high = (kilos / 1000 for kilos in costs.co2_kg)
    show_heading(
        _(
            "energy {mwh:,.0f} MWh per year; CO2 {likely:,.0f} t ({low:,.0f} to {high:,.0f} t, depending on the grid)",
            mwh=costs.kwh / 1000,
            likely=likely,
            low=low,
            high=high,
        )
    )
    for warning in result.gathered.warnings(today):
        show_note(warning)


def _show_clouds(offers: tuple[CloudOffer, ...]) -> None:
    """Print the clouds' prices of the GPU, each with its region and day; nothing without offers."""
    if not offers:
        return
    show_heading(_("the GPU in clouds, per GPU hour"))
    rows = [
        (
            offer.price.cloud,
            offer.price.region,
            offer.price.instance,
            _(offer.price.deal),
            f"{offer.per_gpu_hour:.2f} {offer.currency}",
            f"{offer.price.per_gpu_hour:.2f} {offer.price.currency}" if offer.converted else "",
            offer.price.date,
        )
        for offer in offers
    ]
    show_table(("cloud", "region", "instance", "deal", "price", "list price", "date"), rows)
    for rate in sorted({offer.converted for offer in offers if offer.converted}):
        show_note(_("converted at {rate}", rate=rate))


def _show_costs(costs: Costs, money: str) -> None:
    heads = (
        _("{currency}/GPU hour", currency=money),
        _("low - high"),
        _("{currency}/year", currency=money),
        _("goodput"),
        _("break-even (h/year)"),
        _("break-even (months)"),
        _("savings"),
    )
    show_table(("", *heads), [_row(option) for option in costs.options])
    show_heading(_("{currency} per GPU hour by utilization", currency=money))
    names = [_(option.name) for option in costs.options]
    show_table(
        ("utilization", *names),
        [(f"{share:.0%}", *(f"{price:.2f}" for price in row)) for share, row in costs.by_utilization],
    )
    show_heading(
        _(
            "main drivers of the cost of an owned GPU hour ({currency}, at the low and high value)",
            currency=money,
        )
    )
    show_table(
        ("figure", "low", "high"),
        [(bar.name, f"{bar.at_low:.2f}", f"{bar.at_high:.2f}") for bar in costs.drivers[:6]],
    )


def _row(option: CostOption) -> tuple[str, ...]:
    low, high = option.bounds
    cells = (
        _(option.name),
        f"{option.per_gpu_hour:.2f}",
        f"{low:.2f} - {high:.2f}",
        f"{option.a_year:,.0f}",
        f"{option.goodput:.1%}",
    )
    if option.even is None:
        return (*cells, "", "", "")
    even = f"{option.even.hours_a_year:,.0f}" if option.even.reachable else _("never")
    months = _("never") if isinf(option.even.months) else f"{option.even.months:,.0f}"
    return (*cells, even, months, f"{option.saving:+.0%}")


def finite(document: Any) -> Any:
    """Return a value as plain JSON values: dataclasses become objects, infinite numbers and NaN None."""
    if is_dataclass(document) and not isinstance(document, type):
        document = {field.name: getattr(document, field.name) for field in fields(document)}
    if isinstance(document, Mapping):
        return {key: finite(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [finite(value) for value in document]
    return None if isinstance(document, float) and not isfinite(document) else document
