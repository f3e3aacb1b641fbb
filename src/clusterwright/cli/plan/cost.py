"""`wright plan cost`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from math import isfinite, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.cli._show import show_message, show_table, show_text
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Estimate
    from clusterwright.plan.cost.inputs import Gathered
    from clusterwright.plan.cost.report import CostOption, Costs


def cost(
    *,
    gpu: str,
    nodes: int,
    hours: float = 5000,
    figure: tuple[str, ...] = (),
    catalog: Path | None = None,
    html: Path | None = None,
    json: bool = False,
) -> int:
    """Hold an own cluster against a rented one: money a GPU-hour, break-even, and what drives it.

    Every figure has a low, a likely and a high value, and a source; --json shows them all.

    Parameters
    ----------
    gpu
        A GPU of the catalog; the cheapest server with it is taken.
    nodes
        Servers.
    hours
        Hours of training a year, of 8760.
    figure
        A figure of your own in place of ours, as NAME=LOW:LIKELY:HIGH or NAME=VALUE; may be given several times.
    catalog
        GPUs, servers and prices of your own.
    html
        Write a page with the picture here: cost against hours with the break-even.
    json
        Everything, with all inputs and their sources, as one JSON document.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.plan.cost.html_report import render_html

    result = costed(gpu, nodes, hours, figure, catalog)
    money = result.gathered.currency
    if html:
        write_table(html, render_html(result.costs, result.values, money, result.title))
    if json:
        document = {
            "currency": money,
            "costs": result.costs,
            "inputs": result.values,
            "warnings": result.warnings,
        }
        show_json(finite(document))
    else:
        show(result)
    return 0


@dataclass(frozen=True)
class Costed:
    """The costs, what they are made of, and what is old."""

    costs: Costs
    gathered: Gathered
    values: Mapping[str, Estimate]
    nodes: int
    warnings: list[str]

    @property
    def title(self) -> str:
        """The cluster in words."""
        return f"{self.nodes} x {self.gathered.server.name}"


def costed(gpu: str, nodes: int, hours: float, figures: tuple[str, ...], catalog: Path | None) -> Costed:
    """Everything that was typed, reckoned.

    Raises:
        WrightError: cost-figure, cost-no-price, currency-mixed, unknown-gpu.
    """
    from clusterwright import catalog as gpu_catalog
    from clusterwright.cli.plan._inputs import load_user_catalog
    from clusterwright.plan.cost.inputs import gather
    from clusterwright.plan.cost.rented import Fleet
    from clusterwright.plan.cost.report import costs

    user_catalog = load_user_catalog(catalog)
    sized_or_refused(nodes, hours)
    gathered = gather(gpu_catalog.gpu(gpu, user_catalog), nodes, user_catalog)
    values = with_user_figures(gathered.values, figures)
    all_costs = costs(values, Fleet(nodes, nodes * gathered.server.gpus), hours)
    today = date.today().isoformat()  # noqa: DTZ011 (a day, as the price tags have)
    return Costed(all_costs, gathered, values, nodes, gathered.warnings(today))


def show(result: Costed) -> None:
    """The answer on stdout, old prices on stderr."""
    costs, money = result.costs, result.gathered.currency
    gpus = result.nodes * result.gathered.server.gpus
    show_text(
        _(
            "{title} ({gpus} GPUs), {hours:,.0f} h of training a year\nbought for {purchase:,.0f} "
            "{money}; {fixed_a_year:,.0f} {money} a year before any training, and "
            "{energy_an_hour:,.2f} {money} an hour of it\n",
            title=result.title,
            gpus=gpus,
            hours=costs.hours,
            purchase=costs.purchase,
            money=money,
            fixed_a_year=costs.fixed_a_year,
            energy_an_hour=costs.energy_an_hour,
        )
    )
    heads = (
        f"{money}/GPU-h",
        "at worst and best",
        f"{money}/year",
        "goodput",
        "even at h/year",
        "months",
        "saves",
    )
    show_table(("", *heads), [_row(option) for option in costs.ways])
    show_text(_("\nmoney a GPU-hour by how busy it is\n"))
    names = [option.name for option in costs.ways]
    show_table(
        ("busy", *names),
        [(f"{share:.0%}", *(f"{price:.2f}" for price in row)) for share, row in costs.by_utilisation],
    )
    show_text(
        _("\nwhat drives an owned hour ({money}/GPU-h at the low and at the high end of each)\n", money=money)
    )
    show_table(
        ("figure", "low", "high"),
        [(bar.name, f"{bar.at_low:.2f}", f"{bar.at_high:.2f}") for bar in costs.drivers[:6]],
    )
    low, likely, high = (kilos / 1000 for kilos in costs.co2_kg)
    show_text(
        _(
            "\nenergy {kwh:,.0f} MWh a year; CO2 {likely:,.0f} t ({low:,.0f} to {high:,.0f} by the grid)",
            kwh=costs.kwh / 1000,
            likely=likely,
            low=low,
            high=high,
        )
    )
    for warning in result.warnings:
        show_message(f"note: {warning}")


def _row(option: CostOption) -> tuple[str, ...]:
    low, high = option.bounds
    cells = (
        option.name,
        f"{option.per_gpu_hour:.2f}",
        f"{low:.2f} - {high:.2f}",
        f"{option.a_year:,.0f}",
        f"{option.goodput:.1%}",
    )
    if option.even is None:
        return (*cells, "", "", "")
    even = f"{option.even.hours_a_year:,.0f}" if option.even.reachable else "never"
    months = "never" if isinf(option.even.months) else f"{option.even.months:,.0f}"
    return (*cells, even, months, f"{option.saving:+.0%}")


HOURS_A_YEAR = 8760


def sized_or_refused(nodes: int, hours: float) -> None:
    """A cluster has a node or more, and a year so many hours.

    Raises:
        WrightError: cost-figure.
    """
    from clusterwright.errors import EXIT_USAGE, Finding, WrightError

    findings = []
    if nodes < 1:
        findings.append(Finding("cost-figure", _("--nodes is {nodes}", nodes=nodes), _("give 1 or more")))
    if not 0 < hours <= HOURS_A_YEAR:
        findings.append(
            Finding(
                "cost-figure",
                _("--hours is {hours:g}", hours=hours),
                _("a year has {hours_a_year}; give hours of it", hours_a_year=HOURS_A_YEAR),
            )
        )
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)


def with_user_figures(values: Mapping[str, Estimate], figures: tuple[str, ...]) -> dict[str, Estimate]:
    """Ours, with the user's own in their place.

    Raises:
        WrightError: cost-figure, for every text that is no figure of ours.
    """
    from clusterwright.errors import EXIT_USAGE, Finding, WrightError, closest_name
    from clusterwright.plan.cost.figures import Estimate

    estimates, findings = dict(values), []
    for text in figures:
        name, _ignored, numbers = text.partition("=")
        try:
            parts = [float(number) for number in numbers.split(":")]
            low, likely, high = parts if len(parts) == 3 else parts * 3
            estimates[name] = Estimate(low, likely, high, values[name].unit, _("your own"))
        except KeyError:
            suggestion = closest_name(name, list(values))
            fix = (
                _("did you mean `{suggestion}`?", suggestion=suggestion)
                if suggestion
                else _("the figures are {values}", values=", ".join(values))
            )
            findings.append(Finding("cost-figure", _("there is no figure `{name}`", name=name), fix))
        except ValueError:
            message = _("`{text}` is not NAME=LOW:LIKELY:HIGH, the three in order", text=text)
            findings.append(
                Finding("cost-figure", message, _("write it as server=200000:250000:300000 or pue=1.3"))
            )
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return estimates


def finite(document: Any) -> Any:
    """The same as plain values that JSON knows: dataclasses as objects, and nothing in place of the infinite."""
    if is_dataclass(document) and not isinstance(document, type):
        document = {field.name: getattr(document, field.name) for field in fields(document)}
    if isinstance(document, Mapping):
        return {key: finite(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [finite(value) for value in document]
    return None if isinstance(document, float) and not isfinite(document) else document
