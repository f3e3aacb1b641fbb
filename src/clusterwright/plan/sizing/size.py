"""Find the size of a cluster for a training, or the time of the training on a machine."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.records import Gpu
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.errors import Finding
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.answer import Answer, Sharing
    from clusterwright.plan.sizing.choices import Scenario
    from clusterwright.plan.sizing.fewest import Assumptions
    from clusterwright.plan.sizing.workload import Workload, WorkloadRequest


def size(
    request: WorkloadRequest,
    *,
    gpu: str | None = None,
    machine: Machine | None = None,
    sharing: Sharing | None = None,
    catalog: UserCatalog | None = None,
) -> Answer:
    """Find the fewest nodes with this GPU of the catalog that finish a training before its deadline.

    With `machine`: how long the training takes there. Hours are in the answer's `sized.hours`; `nodes` are to buy,
    with what `sharing` (several teams, head-room) adds.

    Raises:
        WrightError: `size-workload` or `bad-quantity` (all at once), `unknown-gpu`, `size-does-not-fit`,
            `deadline-impossible`.
    """
    from clusterwright import catalog as gpu_catalog
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan import machines
    from clusterwright.plan.sizing.answer import Sharing
    from clusterwright.plan.sizing.fewest import Assumptions, on_existing, searched
    from clusterwright.plan.sizing.workload import workload

    training_workload, deadline_s = workload(request)
    hardware = machine or (gpu_catalog.gpu(gpu, catalog) if gpu else None)
    findings = missing_inputs(hardware, deadline_s)
    if hardware is None or findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    assumptions = Assumptions(on_existing if machine else searched, machines.machine)
    return answer(training_workload, deadline_s, hardware, assumptions, sharing or Sharing())


def answer(
    workload: Workload, deadline_s: float, hardware: Gpu | Machine, assumptions: Assumptions, sharing: Sharing
) -> Answer:
    """Return the smallest size that meets the deadline if `hardware` is a GPU; on a machine, how long it takes.

    The latter also if that is beyond the deadline.

    Raises:
        WrightError: `size-does-not-fit`, `deadline-impossible`.
    """
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.answer import for_deadline, on_cluster
    from clusterwright.plan.sizing.fewest import does_not_fit

    if not isinstance(hardware, Machine):
        return for_deadline(workload, hardware, deadline_s, assumptions, sharing)
    result = on_cluster(workload, hardware, deadline_s, assumptions, sharing)
    if result is None:
        raise does_not_fit(workload, f"{hardware.gpus} x {hardware.gpu.name}")
    return result


def missing_inputs(
    hardware: Gpu | Machine | None, deadline_s: float, scenario: Scenario | None = None
) -> tuple[Finding, ...]:
    """Return a finding for a missing GPU and a missing deadline; empty if nothing is missing.

    A scenario needs no GPU; a machine, or a scenario other than training, needs no deadline. `deadline_s`: infinite if
    not given.
    """
    from clusterwright.errors import Finding
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.choices import Scenario

    missing = []
    if hardware is None and scenario is None:
        fix = _("pass --gpu a100-80g, --cluster cluster.yaml or --scenario training")
        missing.append(Finding("size-workload", _("no GPU is given"), fix))
    is_sized = not isinstance(hardware, Machine) and scenario in {None, Scenario.TRAINING}
    if is_sized and math.isinf(deadline_s):
        fix = _("pass --deadline 3h, or a number of GPUs: --gpus 32")
        missing.append(Finding("size-workload", _("no deadline is given"), fix))
    return tuple(missing)
