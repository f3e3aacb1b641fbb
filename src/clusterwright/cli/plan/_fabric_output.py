"""Tables of `wright plan fabric`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.cli._show import show_heading, show_message, show_table, show_text, show_verbatim
from clusterwright.i18n import N_, _
from clusterwright.units import human_bit_rate, human_duration

if TYPE_CHECKING:
    from clusterwright.plan.fabric.advice import Advice
    from clusterwright.plan.fabric.compare import Compared
    from clusterwright.plan.fabric.fabric import FabricReport
    from clusterwright.plan.fabric.networks import Networks


def show(report: FabricReport) -> None:
    """Print the report's tables on stdout, and hints on stderr."""
    switch = report.requirements.switch
    show_text(
        _(
            "{nodes} nodes, each with {gpus} x {gpu} and {nics} network ports of {rate} {protocol}; switch: {switch} "
            "({ports} ports)",
            nodes=report.requirements.nodes,
            gpus=report.machine.gpus_per_node,
            gpu=report.machine.gpu.name,
            nics=report.requirements.ports_per_node,
            rate=human_bit_rate(switch.port_bits_per_s),
            protocol=switch.protocol,
            switch=switch.title,
            ports=switch.ports,
        )
    )
    _show_kinds(report)
    if report.is_single_kind:
        _show_kind(report)
    _show_networks(report.three)
    if report.advice:
        _show_advice(report.advice)
    else:
        show_message(_("pass --model to compare step times and the benefit of InfiniBand"))


_COLUMNS = (
    N_("topology"), N_("tiers"), N_("switches"), N_("cables"), N_("free ports"), N_("bisection"),
    N_("oversubscription"), N_("hops"), N_("all-reduce of 1 GiB"), N_("scattered"), N_("power"),
    N_("switches and cables"), N_("step"), N_("scattered"),
)  # fmt: skip


def _show_kinds(report: FabricReport) -> None:
    steps = any(row.step_s for row in report.rows)
    columns = _COLUMNS if steps else _COLUMNS[:-2]
    show_table(columns, [_kind_row(row, steps=steps) for row in report.rows])
    for row in report.rows:
        if row.why_not:
            show_message(f"{row.kind}: {row.why_not}")
    for item in sorted({item for row in report.rows if row.cost for item in row.cost.unknown}):
        show_message(_("no price is known for {item}", item=item))


def _kind_row(row: Compared, *, steps: bool) -> tuple[str, ...]:
    design = row.fabric
    if design is None:
        return (str(row.kind), *["-"] * (11 + 2 * steps))
    counts = " + ".join(str(level.count) for level in design.levels) or "0"
    cells = (
        row.kind,
        str(design.tiers),
        counts,
        str(design.cables),
        str(sum(level.ports_free for level in design.levels)),
        human_bit_rate(design.bisection_bits_per_s),
        f"{design.oversubscription:.3g}:1",
        str(max(0, design.hops)),
        human_duration(row.all_reduce_s),
        human_duration(row.all_reduce_scattered_s),
        f"{row.power_w / 1e3:,.1f} kW",
        _money(row),
    )
    trained = (human_duration(row.step_s), human_duration(row.step_scattered_s))
    return (*cells, *(trained if steps else ()))


def _money(row: Compared) -> str:
    if row.cost is None or row.cost.unknown:
        return _("not known")
    low, likely, high = (round(value / 1e3, 1) for value in (row.cost.low, row.cost.likely, row.cost.high))
    return _(
        "{likely:,g}k {currency} ({low:,g} to {high:,g})",
        likely=likely,
        currency=row.cost.currency,
        low=low,
        high=high,
    )


def _show_kind(report: FabricReport) -> None:
    design = report.chosen
    show_text("")
    show_table(
        ("tier", "switches", "cables down", "used ports", "free ports"),
        [
            tuple(map(str, (level.name, level.count, level.cables_down, level.ports_used, level.ports_free)))
            for level in design.levels
        ],
    )
    show_heading(_("cables to order (estimated lengths)"))
    rows = [
        (cable.level, cable.item, f"{cable.length_m} m", str(cable.count))
        for cable in next(iter(report.rows)).cables
    ]
    show_table(("from", "class", "length", "cables"), rows)
    show_verbatim(f"\ntopology.conf:\n\n{topology(report)}")
    show_heading(_("cluster.yaml (add the other fields of each group):") + "\n")
    from clusterwright.plan.fabric.topology import cluster_lines

    show_verbatim(cluster_lines(design, report.hosts))


def topology(report: FabricReport) -> str:
    """Return the text of topology.conf for the chosen topology.

    With racks of NVLink, also as a comment with topology/block.
    """
    from clusterwright.plan.fabric.topology import block_lines, topology_lines

    trays = report.machine.nvlink_domain // report.machine.gpus_per_node
    lines = topology_lines(report.chosen, report.hosts)
    if trays > 1:
        blocks = block_lines(report.hosts, trays)
        lines += f"\n# or with topology/block, which keeps NVLink racks together:\n{blocks}"
    return lines


def _show_networks(three: Networks) -> None:
    show_heading(_("networks"))
    rows = []
    for name, network in (
        (_("compute"), three.compute),
        (_("storage"), three.storage),
        (_("management"), three.management),
    ):
        counts = " + ".join(f"{level.count} {level.name}" for level in network.levels) or "-"
        ports = f"{network.nodes} x {network.ports_per_node} x {human_bit_rate(network.port_bits_per_s)}"
        rows.append((name, str(network.kind), network.switch.title, ports, counts, str(network.cables)))
    show_table(("network", "topology", "switch", "ports", "switches", "cables"), rows)


def _show_advice(advice: Advice) -> None:
    from clusterwright.plan.search.outcome import format_layout

    show_heading(
        _("the training on other networks, each with its best layout; the last three at full port rate")
    )
    rows = [
        (
            choice.name,
            human_duration(choice.step_s),
            f"{choice.waiting:.1%}",
            f"{choice.slower:.1%}",
            format_layout(choice.layout),
        )
        for choice in advice.choices
    ]
    show_table(("network", "step", "waiting for the network", "slower than the fastest", "layout"), rows)
    show_text(f"\n{advice.verdict}")
