"""Compare the cost of owning and renting a cluster of servers with one kind of GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.errors import Finding
    from clusterwright.plan.cost.figures import Estimate
    from clusterwright.plan.cost.inputs import Gathered
    from clusterwright.plan.cost.report import Costs


@dataclass(frozen=True)
class ClusterCost:
    """The costs of a cluster and their inputs; money is in `gathered.currency`."""

    costs: Costs
    gathered: Gathered
    values: Mapping[str, Estimate]
    nodes: int

    @property
    def title(self) -> str:
        """The cluster as text, number of nodes and server: `4 x dgx-h100`."""
        return f"{self.nodes} x {self.gathered.server.name}"


def cost(
    gpu: str,
    nodes: int,
    *,
    hours: float = 5000,
    figures: Sequence[str] = (),
    catalog: UserCatalog | None = None,
) -> ClusterCost:
    """Compare the cost of owning and renting `nodes` of the cheapest servers with this GPU of the catalog.

    `hours` of training per year, of 8760. `figures` are the user's own, each as `NAME=LOW:LIKELY:HIGH` or `NAME=VALUE`.

    Raises:
        WrightError: `cost-figure`, `cost-no-price`, `currency-mixed`, `unknown-gpu`.
    """
    from clusterwright import catalog as gpu_catalog
    from clusterwright.plan.cost.inputs import gather
    from clusterwright.plan.cost.rented import Fleet
    from clusterwright.plan.cost.report import costs

    _require_sizes(nodes, hours)
    gathered = gather(gpu_catalog.gpu(gpu, catalog), nodes, catalog)
    values = _with_user_figures(gathered.values, figures)
    return ClusterCost(
        costs(values, Fleet(nodes, nodes * gathered.server.gpus), hours), gathered, values, nodes
    )


HOURS_A_YEAR = 8760


def _require_sizes(nodes: int, hours: float) -> None:
    """Refuse fewer than 1 node, and hours a year that are not above 0 and at most those of a year.

    Raises:
        WrightError: cost-figure, with both findings.
    """
    from clusterwright.errors import EXIT_USAGE, Finding, WrightError

    findings = []
    if nodes < 1:
        findings.append(Finding("cost-figure", _("--nodes must be at least 1"), _("pass --nodes 1 or more")))
    if not 0 < hours <= HOURS_A_YEAR:
        findings.append(
            Finding(
                "cost-figure",
                _("--hours {hours:g} is out of range", hours=hours),
                _("pass more than 0 and at most {max} hours", max=HOURS_A_YEAR),
            )
        )
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)


def require_figures(texts: Sequence[str]) -> None:
    """Refuse texts that are not `NAME=LOW:LIKELY:HIGH` or `NAME=VALUE`; their names are judged with the prices.

    Raises:
        WrightError: cost-figure, for every invalid text.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.cost.figures import Estimate

    findings = []
    for text in texts:
        try:
            Estimate(*_parse_figure(text.partition("=")[2]), "", "")
        except ValueError:
            findings.append(_not_a_figure(text))
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)


def _parse_figure(numbers: str) -> tuple[float, float, float]:
    """Return the low, likely and high value of a text such as 1:2:3 or 2; raise ValueError for any other."""
    parts = [float(number) for number in numbers.split(":")]
    low, likely, high = parts if len(parts) == 3 else parts * 3
    return low, likely, high


def _not_a_figure(text: str) -> Finding:
    from clusterwright.errors import Finding

    message = _("`{text}` is not NAME=LOW:LIKELY:HIGH in ascending order", text=text)
    return Finding("cost-figure", message, _("write the figure as server=200000:250000:300000 or pue=1.3"))


def _with_user_figures(values: Mapping[str, Estimate], figures: Sequence[str]) -> dict[str, Estimate]:
    """Return the figures, overridden by the user's texts `NAME=LOW:LIKELY:HIGH` or `NAME=VALUE`.

    Raises:
        WrightError: cost-figure, for every invalid text.
    """
    from clusterwright.errors import EXIT_USAGE, Finding, WrightError, unknown_name_fix
    from clusterwright.plan.cost.figures import Estimate

    estimates, findings = dict(values), []
    for text in figures:
        name, _ignored, numbers = text.partition("=")
        try:
            low, likely, high = _parse_figure(numbers)
            estimates[name] = Estimate(low, likely, high, values[name].unit, _("your own"))
        except KeyError:
            fix = unknown_name_fix(name, values)
            findings.append(
                Finding(
                    "cost-figure", _("the cost model has no figure with the name `{name}`", name=name), fix
                )
            )
        except ValueError:
            findings.append(_not_a_figure(text))
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return estimates
