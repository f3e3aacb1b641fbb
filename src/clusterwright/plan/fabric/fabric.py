"""Design the networks of a cluster, and compare topologies by cost and step time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterwright.plan.fabric.advice import Advice
    from clusterwright.plan.fabric.compare import Compared, FabricRequirements
    from clusterwright.plan.fabric.networks import Networks
    from clusterwright.plan.fabric.parts import Fabric
    from clusterwright.plan.run import Layout, Machine, Run, Training


@dataclass(frozen=True, slots=True)
class FabricReport:
    """The compared topologies (`rows`), and the chosen one with the management and storage networks."""

    requirements: FabricRequirements
    machine: Machine
    hosts: tuple[str, ...]
    rows: tuple[Compared, ...]
    chosen: Fabric
    three: Networks
    is_single_kind: bool  # one topology was requested
    advice: Advice | None = None


def fabric(
    machine: Machine,
    *,
    kind: str = "all",
    training: Training | None = None,
    requirements: FabricRequirements | None = None,
    hosts: Sequence[str] = (),
) -> FabricReport:
    """Design the fabric of a machine's nodes, and compare all topologies or the one of this kind.

    Kinds: all, direct, ring, star, leaf-spine, fat-tree, rail-optimized, rail-only. With `training`, also compare its
    step times. The default requirements are the machine's ports and a usual switch; `hosts` are the nodes' names.
    Rates are in bit/s, times in seconds, power in watts.

    Raises:
        WrightError: `fabric-kind`, `fabric-size`, `fabric-rate`, `fabric-oversubscription` or `fabric-too-large`;
            `fabric-model` if the training does not fit on the machine.
    """
    from clusterwright.plan.fabric.compare import FabricRequirements, build, compare
    from clusterwright.plan.fabric.networks import networks
    from clusterwright.plan.fabric.parts import FabricKind
    from clusterwright.plan.fabric.switches import for_ports, usual_switch

    if requirements is None:
        network = machine.network
        protocol = "infiniband" if network.kind == "none" else network.kind
        rate = network.nic_bytes_per_s * 8
        nodes = machine.gpus // machine.gpus_per_node
        switch = for_ports(usual_switch(rate, protocol), rate)
        requirements = FabricRequirements(nodes, int(network.nics), switch)
    run = _run(training, machine) if training else None
    widest = FabricKind.RAIL if requirements.ports_per_node > 1 else FabricKind.FAT_TREE
    chosen = FabricKind(kind) if kind != "all" else widest
    design = build(chosen, requirements)
    rows = compare(requirements, machine, run, () if kind == "all" else (chosen,))
    return FabricReport(
        requirements,
        machine,
        tuple(hosts),
        rows,
        design,
        networks(design),
        kind != "all",
        _advice(run) if run else None,
    )


def _run(training: Training, machine: Machine) -> Run:
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.run import Run
    from clusterwright.plan.sizing.fewest import searched

    planned_layout = searched(training, machine)
    if planned_layout is None:
        model, gpus, gpu = training.architecture.name, machine.gpus, machine.gpu.name
        message = _("{model} does not fit on {gpus} x {gpu}", model=model, gpus=gpus, gpu=gpu)
        command = f"wright plan search --model {model} --gpu {gpu} --gpus {gpus}"
        fix = _("run {command} to see what would help", command=command)
        raise WrightError.from_code("fabric-model", message, fix, exit_code=EXIT_USAGE)
    return Run(training, planned_layout.layout, machine, planned_layout.stack)


def _advice(run: Run) -> Advice:
    from clusterwright.plan.fabric.advice import advise
    from clusterwright.plan.sizing.fewest import searched

    def plan(training: Training, machine: Machine) -> Layout | None:
        planned_layout = searched(training, machine)
        return planned_layout.layout if planned_layout is not None else None

    return advise(run, plan=plan)
