"""`wright plan fabric`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from clusterwright.cli._live_names import GPUS, MODELS
from clusterwright.cli._numbers import Count, CountOrZero, Ratio
from clusterwright.cli._quantities import PortRate, SwitchText
from clusterwright.cli.plan._fabric_output import show, topology
from clusterwright.cli.plan._inputs import OF_NODE, MoneyOptions, read_money, read_rate, show_rates
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.fabric.compare import FabricRequirements
    from clusterwright.plan.fabric.fabric import FabricReport
    from clusterwright.plan.run import Machine


Flag = Annotated[bool, Parameter(negative="")]

_MAX_NODES = 65_536  # that of a host list in a cluster file; every node is drawn and cabled


@dataclass(frozen=True, kw_only=True)
class Join:
    """The nodes to connect, and the parts to use."""

    nodes: Annotated[
        Count | None, Parameter(help="Number of nodes; with --cluster: those of the cluster file.")
    ] = None
    gpu: Annotated[str, Parameter(help="GPU, as in `wright plan catalog gpus`."), GPUS] = "h100-sxm-80gb"
    gpus_per_node: Annotated[
        int | None,
        Parameter(help="GPUs per node; default: 8, or 4 for superchips.", validator=OF_NODE),
    ] = None
    nics: Annotated[
        int | None,
        Parameter(help="Network ports per node; default: those of the vendor's system.", validator=OF_NODE),
    ] = None
    nic_rate: Annotated[
        PortRate | None,
        Parameter(help="Rate of a port, such as 400Gbit/s; default: that of the vendor's system."),
    ] = None
    network: Annotated[
        Literal["infiniband", "roce", "ethernet"] | None,
        Parameter(help="Network protocol; default: infiniband."),
    ] = None
    switch: Annotated[
        SwitchText | None,
        Parameter(help="Switch of the catalog, or 64x400G; default: one with ports of the rate."),
    ] = None
    oversubscription: Annotated[
        Ratio | None, Parameter(help="Downlinks per uplink; default: 2 for leaf-spine, else 1.")
    ] = None
    tiers: Annotated[CountOrZero, Parameter(help="Switch tiers; default: as few as possible.")] = 0
    planes: Annotated[Count, Parameter(help="Number of separate fabrics that share every port.")] = 1
    manager_ports: Annotated[CountOrZero, Parameter(help="Ports of a fabric manager.")] = 0
    nodes_per_leaf: Annotated[
        CountOrZero, Parameter(help="Nodes that share a leaf switch, such as 18 for an NVL72 rack.")
    ] = 0
    nodes_per_rack: Annotated[Count, Parameter(help="Nodes per rack, for the lengths of cables.")] = 4
    cluster: Annotated[Path | None, Parameter(help="Cluster file, instead of nodes and NICs.")] = None
    catalog: Annotated[
        Path | None, Parameter(help="File with your own GPUs, switches, cables and prices.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A training whose step times are compared."""

    model: Annotated[str | None, Parameter(help="Also compare the step times of this model."), MODELS] = None
    seq: Annotated[Count, Parameter(help="Tokens per sequence.")] = 4096
    global_batch: Annotated[Count, Parameter(help="Sequences per step, over all GPUs.")] = 1024


@dataclass(frozen=True, kw_only=True)
class Written:
    """Files to write."""

    svg: Annotated[Path | None, Parameter(help="Write a drawing to this SVG file.")] = None
    cables: Annotated[Path | None, Parameter(help="Write every cable with its ends to this CSV file.")] = None
    html: Annotated[
        Path | None, Parameter(help="Write the drawing and the comparison to this HTML file.")
    ] = None


_NO_MONEY = MoneyOptions()


def fabric(
    *,
    join: Annotated[Join, Parameter(name="*")] = Join(),
    trained: Annotated[Trained, Parameter(name="*")] = Trained(),
    kind: Literal[
        "all", "direct", "ring", "star", "leaf-spine", "fat-tree", "rail-optimized", "rail-only"
    ] = "all",
    written: Annotated[Written, Parameter(name="*")] = Written(),
    money_options: Annotated[MoneyOptions, Parameter(name="*")] = _NO_MONEY,
    json: Flag = False,
) -> int:
    """Design the networks of a cluster, and compare topologies by cost and step time.

    Parameters
    ----------
    kind
        Design this topology in full: levels, cables, topology.conf; default: compare all topologies.
    json
        Print one JSON document, in bit/s, seconds and watts.
    """
    from clusterwright.cli._show import show_json

    report, rates = find(join, trained, kind, money_options)
    write_files(written, report)
    if json:
        show_json(document(report) | {"exchange_rates": rates})
    else:
        show(report)
        show_rates(rates)
    return 0


def find(
    join: Join, trained: Trained, kind: str, money_options: MoneyOptions
) -> tuple[FabricReport, list[str]]:
    """Design and compare the networks; return the report, and texts of the exchange rates of its prices.

    With `trained.model` the step times of that training are compared too.
    """
    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.plan import fabric as design_fabric
    from clusterwright.plan import training

    user_catalog, _prices, rates = read_money(money_options, load_user_catalog(join.catalog))
    machine, hosts = _machine(join, user_catalog)
    requirements = _requirements(join, machine, len(hosts), user_catalog)
    work = None
    if trained.model:
        work = training(
            trained.model, seq=trained.seq, global_batch=trained.global_batch, catalog=user_catalog
        )
    return design_fabric(machine, requirements=requirements, kind=kind, training=work, hosts=hosts), rates


def _machine(join: Join, user_catalog: UserCatalog | None) -> tuple[Machine, tuple[str, ...]]:
    from clusterwright import catalog
    from clusterwright.plan.machines import Wiring, machine, machine_of

    if join.cluster:
        from clusterwright.cli.plan._inputs import planned_cluster
        from clusterwright.config.load import load_cluster

        wiring = Wiring(None, None, join.network, join.nics, _rate(join.nic_rate))
        planned = planned_cluster(join.cluster, wiring, None)
        cluster = load_cluster(planned) if isinstance(planned, Path) else planned
        assert cluster is not None  # noqa: S101 (named)
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
    if min(nodes, per_node) < 1 or nodes > _MAX_NODES:
        message = (
            _("--nodes must be at most {count}", count=_MAX_NODES)
            if nodes > _MAX_NODES
            else _("the number of nodes is not given")
            if join.nodes is None
            else _("--nodes must be at least 1")
            if nodes < 1
            else _("--gpus-per-node must be at least 1")
        )
        fix = _("pass --nodes 64, or --cluster cluster.yaml")
        raise WrightError.from_code("fabric-size", message, fix, exit_code=EXIT_USAGE)
    gpu = catalog.gpu(join.gpu, user_catalog)
    wiring = Wiring(join.gpus_per_node, None, join.network, join.nics, _rate(join.nic_rate))
    per_node = machine(gpu, 1, wiring).gpus_per_node
    cluster_machine = machine(gpu, nodes * per_node, wiring)
    width = len(str(nodes))
    return cluster_machine, tuple(f"gpu{number:0{width}}" for number in range(1, nodes + 1))


def _rate(text: str | None) -> int | None:
    rate = read_rate(text)
    if rate == 0:
        raise WrightError.from_code(
            "fabric-size",
            _("--nic-rate must not be 0"),
            _("pass a rate such as 400Gbit/s"),
            exit_code=EXIT_USAGE,
        )
    return rate


def _requirements(
    join: Join, machine: Machine, nodes: int, user_catalog: UserCatalog | None
) -> FabricRequirements:
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
        message, fix = _("--nodes-per-rack must be at least 1"), _("pass --nodes-per-rack 4")
        raise WrightError.from_code("fabric-size", message, fix, exit_code=EXIT_USAGE)
    nics = join.nics if join.nics is not None else int(network.nics)
    hall = Hall(nodes_per_rack=join.nodes_per_rack)
    return FabricRequirements(
        nodes, nics, for_ports(switch, rate), join.oversubscription, options, hall, user_catalog
    )


def document(report: FabricReport) -> dict[str, Any]:
    """Return the document of --json for a report of networks."""
    from clusterwright.plan.fabric.record import compared_record, networks_record

    return {
        "kinds": [compared_record(row) for row in report.rows],
        "networks": networks_record(report.three),
        "advice": report.advice,
        "topology_conf": topology(report) if report.is_single_kind else None,
    }


def write_files(written: Written, report: FabricReport) -> None:
    """Write the requested files: the drawing, the list of cables, and the page with both comparisons."""
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
