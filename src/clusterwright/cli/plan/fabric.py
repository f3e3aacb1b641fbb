"""`wright plan fabric`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from clusterwright.cli._show import show_message, show_table, show_text
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import QuantityError, parse_rate

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.fabric.advice import Advice
    from clusterwright.plan.fabric.compare import Compared, FabricRequirements
    from clusterwright.plan.fabric.networks import Networks
    from clusterwright.plan.fabric.parts import Fabric
    from clusterwright.plan.run import Layout, Machine, Run, Training


Flag = Annotated[bool, Parameter(negative="")]


@dataclass(frozen=True, kw_only=True)
class Join:
    """What is to be joined, and by what."""

    nodes: Annotated[int | None, Parameter(help="Hosts; those of the cluster file with --cluster.")] = None
    gpu: Annotated[str, Parameter(help="A GPU of the catalog.")] = "h100-sxm-80gb"
    gpus_per_node: Annotated[int | None, Parameter(help="8, or 4 for superchips, if left out.")] = None
    nics: Annotated[int | None, Parameter(help="Ports of a node; as in the maker's system.")] = None
    nic_rate: Annotated[str | None, Parameter(help="Rate of a port, e.g. 400Gbit/s; likewise.")] = None
    network: Annotated[
        Literal["infiniband", "roce", "ethernet"] | None, Parameter(help="InfiniBand if left out.")
    ] = None
    switch: Annotated[
        str | None, Parameter(help="A switch of the catalog, or 64x400G; one with ports of that rate.")
    ] = None
    oversubscription: Annotated[
        float | None, Parameter(help="Ports down over ports up; 2 for leaf-spine, 1 for the others.")
    ] = None
    tiers: Annotated[int, Parameter(help="Levels of switches; as few as it takes if left out.")] = 0
    planes: Annotated[int, Parameter(help="Split every port over so many separate fabrics.")] = 1
    manager_ports: Annotated[int, Parameter(help="Of a fabric manager.")] = 0
    nodes_per_leaf: Annotated[
        int, Parameter(help="Keep so many together: 18 for the trays of an NVL72 rack.")
    ] = 0
    nodes_per_rack: Annotated[int, Parameter(help="For the lengths of cables.")] = 4
    cluster: Annotated[Path | None, Parameter(help="A cluster file, in place of nodes and NICs.")] = None
    catalog: Annotated[Path | None, Parameter(help="GPUs, switches, cables and prices of your own.")] = None


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A training whose steps are compared."""

    model: Annotated[str | None, Parameter(help="Compare steps of this model too.")] = None
    seq: Annotated[int, Parameter(help="Tokens of one sequence.")] = 4096
    global_batch: Annotated[int, Parameter(help="Sequences of one step, over all GPUs.")] = 1024


@dataclass(frozen=True, kw_only=True)
class Written:
    """Files beside what is printed."""

    svg: Annotated[Path | None, Parameter(help="Draw it into this file.")] = None
    cables: Annotated[
        Path | None, Parameter(help="Write every cable, from where to where, into this CSV.")
    ] = None
    html: Annotated[
        Path | None, Parameter(help="Write a page with the drawing and all kinds side by side here.")
    ] = None


def fabric(
    *,
    join: Annotated[Join, Parameter(name="*")] = Join(),
    trained: Annotated[Trained, Parameter(name="*")] = Trained(),
    kind: Literal[
        "all", "direct", "ring", "star", "leaf-spine", "fat-tree", "rail-optimized", "rail-only"
    ] = "all",
    written: Annotated[Written, Parameter(name="*")] = Written(),
    json: Flag = False,
) -> int:
    """Design the networks of a cluster, and say which kind is worth its switches.

    Parameters
    ----------
    kind
        This kind in full: levels, cables, topology.conf; all of them side by side if left out.
    json
        Everything, in bit/s, seconds and watts, as one JSON document.
    """
    from clusterwright.cli._show import show_json

    report: FabricReport = find(join, trained, kind)
    write_files(written, report)
    if json:
        show_json(document(report))
    else:
        show(report)
    return 0


@dataclass(frozen=True, slots=True)
class FabricReport:
    """All that is printed."""

    requirements: FabricRequirements
    machine: Machine
    hosts: tuple[str, ...]
    rows: tuple[Compared, ...]
    chosen: Fabric
    three: Networks
    is_single_kind: bool  # one kind was asked for
    advice: Advice | None = None


def find(join: Join, trained: Trained, kind: str) -> FabricReport:
    """Design, compare, choose."""
    from clusterwright.cli.plan._inputs import load_user_catalog
    from clusterwright.plan.fabric.compare import build, compare
    from clusterwright.plan.fabric.networks import networks
    from clusterwright.plan.fabric.parts import Kind

    user_catalog = load_user_catalog(join.catalog)
    machine, hosts = _machine(join, user_catalog)
    requirements = _wanted(join, machine, len(hosts), user_catalog)
    run = _run(trained, machine, user_catalog) if trained.model else None
    chosen = Kind(kind) if kind != "all" else Kind.RAIL if requirements.ports_per_node > 1 else Kind.FAT_TREE
    fabric = build(chosen, requirements)
    rows = compare(requirements, machine, run, () if kind == "all" else (chosen,))
    return FabricReport(
        requirements, machine, hosts, rows, fabric, networks(fabric), kind != "all", _advice(run)
    )


def _machine(join: Join, user_catalog: UserCatalog | None) -> tuple[Machine, tuple[str, ...]]:
    from clusterwright import catalog
    from clusterwright.plan.machines import Wiring, machine, machine_of

    if join.cluster:
        from clusterwright.config.load import load_cluster

        cluster = load_cluster(join.cluster)
        cluster_machine = machine_of(
            cluster, None, {**catalog.gpus(), **(user_catalog.gpus if user_catalog else {})}.values()
        )
        groups = cluster.nodes.values()
        alike = [
            group for group in groups if group.gpus and group.gpus.count == cluster_machine.gpus_per_node
        ]
        hosts = tuple(name for group in alike for name in group.names())
        return replace(cluster_machine, gpus=len(hosts) * cluster_machine.gpus_per_node), hosts
    nodes, per_node = join.nodes or 0, 1 if join.gpus_per_node is None else join.gpus_per_node
    if min(nodes, per_node) < 1:
        message = (
            _("{nodes} nodes", nodes=nodes) if nodes < 1 else _("{per_node} GPUs a node", per_node=per_node)
        )
        fix = "give --nodes 64, or --cluster cluster.yaml"
        raise WrightError.from_code(
            "fabric-size", _("{message} are none", message=message), fix, exit_code=EXIT_USAGE
        )
    gpu = catalog.gpu(join.gpu, user_catalog)
    wiring = Wiring(join.gpus_per_node, None, join.network, join.nics, _rate(join.nic_rate))
    per_node = machine(gpu, 1, wiring).gpus_per_node
    cluster_machine = machine(gpu, nodes * per_node, wiring)
    width = len(str(nodes))
    return cluster_machine, tuple(f"gpu{number:0{width}}" for number in range(1, nodes + 1))


def _rate(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        rate = parse_rate(text)
    except QuantityError as error:
        message = f"--nic-rate: {error.message}"
        raise WrightError.from_code("bad-quantity", message, error.fix, exit_code=EXIT_USAGE) from error
    if not rate:
        raise WrightError.from_code(
            "fabric-size", _("a port without a rate"), "give 400Gbit/s", exit_code=EXIT_USAGE
        )
    return rate


def _wanted(join: Join, machine: Machine, nodes: int, user_catalog: UserCatalog | None) -> FabricRequirements:
    from clusterwright.plan.fabric.cables import Hall
    from clusterwright.plan.fabric.compare import FabricRequirements
    from clusterwright.plan.fabric.design import Options
    from clusterwright.plan.fabric.switches import for_ports, switch_of, usual_switch

    network = machine.network
    protocol = "infiniband" if network.kind == "none" else network.kind
    rate = network.nic_bytes_per_s * 8
    switch = (
        switch_of(join.switch, protocol, user_catalog)
        if join.switch
        else usual_switch(rate, protocol, user_catalog)
    )
    options = Options(join.tiers, join.planes, join.manager_ports, nodes_per_leaf=join.nodes_per_leaf)
    if join.nodes_per_rack < 1:
        message = _("{nodes_per_rack} nodes are no rack", nodes_per_rack=join.nodes_per_rack)
        raise WrightError.from_code("fabric-size", message, "give --nodes-per-rack 4", exit_code=EXIT_USAGE)
    nics = join.nics if join.nics is not None else int(network.nics)
    hall = Hall(nodes_per_rack=join.nodes_per_rack)
    return FabricRequirements(
        nodes, nics, for_ports(switch, rate), join.oversubscription, options, hall, user_catalog
    )


def _run(trained: Trained, machine: Machine, user_catalog: UserCatalog | None) -> Run:
    from clusterwright.catalog.hf import model_of
    from clusterwright.plan.run import Run, Training
    from clusterwright.plan.sizing.fewest import searched, stack_for

    training = Training(model_of(str(trained.model), user_catalog), trained.seq, trained.global_batch)
    planned_layout = searched(training, machine)
    if planned_layout is None:
        message = _(
            "{model} does not fit on {gpus} x {gpu}",
            model=trained.model,
            gpus=machine.gpus,
            gpu=machine.gpu.name,
        )
        options = f"--model {trained.model} --gpu {machine.gpu.name} --gpus {machine.gpus}"
        fix = _("wright plan search {options} says what would help", options=options)
        raise WrightError.from_code("fabric-model", message, fix, exit_code=EXIT_USAGE)
    return Run(training, planned_layout.layout, machine, stack_for(training.task))


def _advice(run: Run | None) -> Advice | None:

    if run is None:
        return None
    from clusterwright.plan.fabric.advice import advise
    from clusterwright.plan.sizing.fewest import searched

    def plan(training: Training, machine: Machine) -> Layout | None:
        planned_layout = searched(training, machine)
        return planned_layout.layout if planned_layout is not None else None

    return advise(run, plan=plan)


def document(report: FabricReport) -> dict[str, Any]:
    """For --json."""
    from clusterwright.plan.fabric.record import compared_record, networks_record

    return {
        "kinds": [compared_record(row) for row in report.rows],
        "networks": networks_record(report.three),
        "advice": report.advice,
        "topology_conf": _topology(report) if report.is_single_kind else None,
    }


def write_files(written: Written, report: FabricReport) -> None:
    """The drawing in both languages, every cable as a row, and a page with the drawing and the comparison."""
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.plan.fabric.drawing import svg
    from clusterwright.plan.fabric.html_report import render_html
    from clusterwright.plan.fabric.record import cable_rows

    if written.svg:
        write_table(written.svg, svg(report.chosen, "both", standalone=True))
    if written.cables:
        rows = (",".join(map(str, row)) for row in cable_rows(report.chosen, report.requirements.hall))
        write_table(written.cables, "\n".join(["from,to,cables,length_m,class", *rows, ""]))
    if written.html:
        write_table(written.html, render_html(report.chosen, report.rows))


def show(report: FabricReport) -> None:
    """Tables on stdout, and what to ask next on stderr."""
    switch = report.requirements.switch
    rate = switch.port_bits_per_s / 1e9
    show_text(
        _(
            "{nodes} nodes of {gpus_per_node} x {gpu}, {ports_per_node} x {rate:g} Gbit/s "
            "{protocol}, switch {title} ({ports} ports)\n",
            nodes=report.requirements.nodes,
            gpus_per_node=report.machine.gpus_per_node,
            gpu=report.machine.gpu.name,
            ports_per_node=report.requirements.ports_per_node,
            rate=rate,
            protocol=switch.protocol,
            title=switch.title,
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
        show_message("with --model, steps are compared too, and whether InfiniBand pays")


def _show_kinds(report: FabricReport) -> None:
    steps = any(row.step_s for row in report.rows)
    head = ("kind", "levels", "switches", "cables", "ports free", "bisection", "oversubscribed", "hops",
            "all-reduce 1 GiB", "scattered", "power", "switches and cables")  # fmt: skip
    show_table(
        (*head, *(("step", "scattered") if steps else ())),
        [_kind_row(row, steps=steps) for row in report.rows],
    )
    for row in report.rows:
        if row.why_not:
            show_message(f"{row.kind}: {row.why_not}")
    for item in sorted({item for row in report.rows if row.cost for item in row.cost.unknown}):
        show_message(_("no price is known of {item}", item=item))


def _kind_row(row: Compared, *, steps: bool) -> tuple[str, ...]:
    design = row.fabric
    if design is None:
        return (str(row.kind), *("-" for _ in range(11 + 2 * steps)))
    counts = " + ".join(str(level.count) for level in design.levels) or "0"
    cells = (
        row.kind,
        str(design.tiers),
        counts,
        str(design.cables),
        str(sum(level.ports_free for level in design.levels)),
        f"{design.bisection_bits_per_s / 1e12:.4g} Tbit/s",
        f"{design.oversubscription:.3g}:1",
        str(max(0, design.hops)),
        f"{row.all_reduce_s * 1e3:.3g} ms",
        f"{row.all_reduce_scattered_s * 1e3:.3g} ms",
        f"{row.power_w / 1e3:,.1f} kW",
        _money(row),
    )
    trained = (f"{row.step_s:.4g} s", f"{row.step_scattered_s:.4g} s")
    return (*cells, *(trained if steps else ()))


def _money(row: Compared) -> str:
    if row.cost is None or row.cost.unknown:
        return "not known"
    low, likely, high = (round(value / 1e3, 1) for value in (row.cost.low, row.cost.likely, row.cost.high))
    return f"{likely:,g} k {row.cost.currency} ({low:,g} to {high:,g})"


def _show_kind(report: FabricReport) -> None:
    design = report.chosen
    show_text("")
    show_table(
        ("level", "switches", "cables under it", "ports used", "ports free"),
        [
            tuple(map(str, (level.name, level.count, level.cables_down, level.ports_used, level.ports_free)))
            for level in design.levels
        ],
    )
    show_text(_("\ncables to order (lengths are estimates):"))
    rows = [
        (cable.level, cable.item, f"{cable.length_m} m", str(cable.count))
        for cable in next(iter(report.rows)).cables
    ]
    show_table(("from", "class", "length", "cables"), rows)
    show_text(
        _(
            "\ntopology.conf:\n\n{topology}\ncluster.yaml, each group with its other fields:\n",
            topology=_topology(report),
        )
    )
    from clusterwright.plan.fabric.topology import cluster_lines

    show_text(cluster_lines(design, report.hosts))


def _topology(report: FabricReport) -> str:
    from clusterwright.plan.fabric.topology import block_lines, topology_lines

    trays = report.machine.nvlink_domain // report.machine.gpus_per_node
    lines = topology_lines(report.chosen, report.hosts)
    if trays > 1:
        blocks = block_lines(report.hosts, trays)
        lines += f"\n# or, with topology/block, so that NVLink's racks stay together:\n{blocks}"
    return lines


def _show_networks(three: Networks) -> None:
    show_text(_("\nthe three networks:"))
    rows = []
    for name, network in (
        ("compute", three.compute),
        ("storage", three.storage),
        ("management", three.management),
    ):
        counts = " + ".join(f"{level.count} {level.name}" for level in network.levels) or "none"
        ports = f"{network.nodes} x {network.ports_per_node} x {network.port_bits_per_s / 1e9:g} Gbit/s"
        rows.append((name, str(network.kind), network.switch.title, ports, counts, str(network.cables)))
    show_table(("network", "kind", "switch", "ports", "switches", "cables"), rows)


def _show_advice(advice: Advice) -> None:
    from clusterwright.plan.search.outcome import format_layout

    show_text(
        _("\nthe training on other networks, cut as suits each; the last three with all ports at their rate:")
    )
    rows = [
        (
            choice.name,
            f"{choice.step_s:.4g} s",
            f"{choice.waiting:.1%}",
            f"{choice.slower:.1%}",
            format_layout(choice.layout),
        )
        for choice in advice.choices
    ]
    show_table(("network", "step", "lost to it", "slower than the fastest", "layout"), rows)
    show_text(f"\n{advice.verdict}")
