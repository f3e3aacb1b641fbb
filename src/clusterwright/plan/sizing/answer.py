"""The result of `wright plan size`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.plan.sizing.fewest import HOUR_S, fewest, sized
from clusterwright.plan.sizing.host import host
from clusterwright.plan.sizing.teams import Shared, shared

if TYPE_CHECKING:
    from clusterwright.catalog.records import Gpu
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.fewest import Assumptions, Sized
    from clusterwright.plan.sizing.host import HostPart
    from clusterwright.plan.sizing.workload import Workload


POOR = 0.20  # MFU below which a note is added: published runs of models above 1 B parameters reach 30 to 60%


@dataclass(frozen=True, slots=True)
class Answer:
    """The size of a cluster for a workload, its nodes and their parts, and notes on assumptions."""

    sized: Sized
    deadline_h: float  # infinite without a deadline
    sure: Sized | None  # size that is sufficient even at P90 of the prediction; None: no size is
    shared: Shared | None  # for several teams
    nodes: int  # to buy, headroom included
    machine: Machine  # with all nodes
    parts: tuple[HostPart, ...]  # of one node, besides its GPUs
    notes: tuple[str, ...]

    @property
    def in_time(self) -> bool:
        """True if the likely time meets the deadline."""
        return self.sized.hours <= self.deadline_h


@dataclass(frozen=True, slots=True)
class Sharing:
    """How teams share the cluster."""

    teams: int = 1
    headroom: float = 0.0
    busy: float = 1.0  # share of the time in which a team has a training to run


def for_deadline(
    workload: Workload, gpu: Gpu, deadline_s: float, assumptions: Assumptions, sharing: Sharing
) -> Answer:
    """Find the fewest nodes that likely meet a deadline, and build the cluster from them.

    The answer also has the fewest that meet it at the P90 of the prediction; None if no size does.

    Raises:
        WrightError: deadline-impossible or size-does-not-fit.
    """
    likely = fewest(workload, gpu, deadline_s, assumptions)
    if likely.hours_range[1] * HOUR_S <= deadline_s:
        return _build_answer(likely, likely, deadline_s / HOUR_S, assumptions, sharing)
    try:
        sure: Sized | None = fewest(workload, gpu, deadline_s, assumptions, sure_from=likely.gpus)
    except WrightError:
        sure = None
    return _build_answer(likely, sure, deadline_s / HOUR_S, assumptions, sharing)


def on_cluster(
    workload: Workload, machine: Machine, deadline_s: float, assumptions: Assumptions, sharing: Sharing
) -> Answer | None:
    """Predict a workload on an existing machine; None if it does not fit its memory.

    The answer counts as sure only if the P90 of the time meets the deadline.
    """
    result = sized(workload, machine, assumptions)
    if result is None:
        return None
    sure = result if result.hours_range[1] * HOUR_S <= deadline_s else None
    return _build_answer(result, sure, deadline_s / HOUR_S, assumptions, sharing)


def _build_answer(
    result: Sized, sure: Sized | None, deadline_h: float, assumptions: Assumptions, sharing: Sharing
) -> Answer:
    among = shared(result.nodes, result.hours, sharing.teams, sharing.headroom, sharing.busy)
    several = sharing.teams > 1 or sharing.headroom > 0
    nodes = among.nodes if several else result.nodes
    cluster_machine = _cluster_machine(result.machine, nodes, assumptions)
    return Answer(
        sized=result,
        deadline_h=deadline_h,
        sure=sure,
        shared=among if several else None,
        nodes=nodes,
        machine=cluster_machine,
        parts=host(cluster_machine, result.workload),
        notes=(*result.workload.notes, *_wasteful(result)),
    )


def _wasteful(result: Sized) -> tuple[str, ...]:
    """Return a note if the GPUs that the deadline needs reach less than 20% of their peak, else nothing."""
    if result.utilization >= POOR:
        return ()
    batch = result.workload.training.global_batch
    text = _(
        "the GPUs reach {mfu:.0%} of their peak, as a global batch of {batch} is small for {gpus} GPUs; a larger "
        "--global-batch or a later deadline needs far fewer",
        mfu=result.utilization,
        batch=batch,
        gpus=result.gpus,
    )
    return (text,)


def _cluster_machine(machine: Machine, nodes: int, assumptions: Assumptions) -> Machine:
    """Return the machine with all nodes to buy, and with a network if the sized one is a single node."""
    gpus = nodes * machine.gpus_per_node
    return (
        assumptions.make(machine.gpu, gpus)
        if machine.network.kind == "none" and nodes > 1
        else replace(machine, gpus=gpus)
    )
