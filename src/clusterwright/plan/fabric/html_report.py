"""HTML report of `wright plan fabric`: a drawing of the chosen fabric, and a comparison of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from clusterwright.drawing.sheet import Figure, Section, drawn, table
from clusterwright.i18n import N_, _, bilingual, both_languages
from clusterwright.plan.charts.sheet import sheet
from clusterwright.plan.fabric.drawing import FABRIC_LABELS, svg
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.plan.fabric.compare import Compared
    from clusterwright.plan.fabric.parts import Fabric

HEAD = (
    N_("kind"),
    N_("switches"),
    N_("cables"),
    N_("bisection"),
    N_("oversubscription"),
    N_("all-reduce of 1 GiB"),
    N_("power"),
)


def render_html(chosen: Fabric, rows: Sequence[Compared]) -> str:
    """Return an HTML page with the chosen fabric, as figures and a drawing, and the comparison of all kinds."""
    count = sum(level.count for level in chosen.levels)
    return sheet(
        bilingual(
            "{nodes} nodes, {kind}: {switches} switches",
            nodes=chosen.nodes,
            kind=both_languages(FABRIC_LABELS[chosen.kind]),
            switches=count,
        ),
        [
            Figure(f"{count}", "", bilingual("switches")),
            Figure(f"{chosen.cables}", "", bilingual("cables")),
            Figure(f"{chosen.bisection_bits_per_s / 1e12:.4g}", "Tbit/s", bilingual("bisection")),
        ],
        [
            network(chosen),
            Section(bilingual("Comparison of all kinds"), table([_(name) for name in HEAD], map(_row, rows))),
        ],
        footer="wright plan fabric",
    )


def network(chosen: Fabric) -> Section:
    """Return the page section with the drawing of a fabric."""
    return Section(bilingual("The network"), drawn(partial(svg, chosen, "both")))


def _row(row: Compared) -> tuple[str, ...]:
    fabric = row.fabric
    if fabric is None:
        return (str(row.kind), row.why_not, *("" for _name in HEAD[2:]))
    return (
        str(row.kind),
        " + ".join(str(level.count) for level in fabric.levels) or "0",
        str(fabric.cables),
        f"{fabric.bisection_bits_per_s / 1e12:.4g} Tbit/s",
        f"{fabric.oversubscription:.3g}:1",
        human_duration(row.all_reduce_s),
        f"{row.power_w / 1e3:,.1f} kW",
    )
