"""`wright plan cost`."""

from __future__ import annotations

from pathlib import Path


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
    from clusterwright.cli._plan._costed import costed, tell
    from clusterwright.cli._plan._figures import finite
    from clusterwright.cli._plan._tables import write_table
    from clusterwright.cli._show import show_json
    from clusterwright.plan.cost.page import page

    made = costed(gpu, nodes, hours, figure, catalog)
    money = made.gathered.currency
    if html:
        write_table(html, page(made.found, made.values, money, made.what))
    if json:
        document = {"currency": money, "costs": made.found, "inputs": made.values, "warnings": made.warnings}
        show_json(finite(document))
    else:
        tell(made)
    return 0
