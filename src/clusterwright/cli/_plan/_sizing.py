"""From the options of `wright plan size` to what is sized."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._plan._asked import Precision

if TYPE_CHECKING:
    from clusterwright.catalog.own import Own
    from clusterwright.catalog.records import Gpu
    from clusterwright.cli._plan._asked import Where
    from clusterwright.errors import Finding
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.answer import Answer, Sharing
    from clusterwright.plan.sizing.choices import Choice, Scenario
    from clusterwright.plan.sizing.fewest import Means
    from clusterwright.plan.sizing.workload import Workload


@dataclass(frozen=True, kw_only=True)
class Amount:
    """How much is trained, and until when."""

    task: Annotated[str, Parameter(help="pretrain, sft or lora; sft with --samples, else pretrain.")] = ""
    samples: Annotated[str, Parameter(help="Sequences of one epoch, e.g. 52k.")] = ""
    tokens: Annotated[str, Parameter(help="Tokens of one epoch, e.g. 1e9, in place of --samples.")] = ""
    seq: Annotated[str, Parameter(help="Tokens of one sequence; as usual for the task if left out.")] = ""
    epochs: Annotated[float | None, Parameter(help="Times that the data is seen.")] = None
    global_batch: Annotated[str, Parameter(help="Sequences of one step, over all GPUs.")] = ""
    precision: Annotated[Precision, Parameter(help="Of the matrix products.")] = "bf16"
    deadline: Annotated[str, Parameter(help="Until when it has to be done, e.g. 3h.")] = ""
    slow_nodes: Annotated[str, Parameter(help="Share of the nodes that are a tenth slower, e.g. 1%.")] = "0%"


@dataclass(frozen=True, kw_only=True)
class Teams:
    """Who shares the cluster."""

    teams: Annotated[int, Parameter(help="Teams with one such training each at a time.")] = 1
    headroom: Annotated[str, Parameter(help="Share of the nodes to leave free, e.g. 30%.")] = "0%"
    busy: Annotated[str, Parameter(help="Share of the time that a team has a training to run.")] = "100%"


@dataclass(frozen=True)
class Prepared:
    """What is sized, compared, or both."""

    workload: Workload | None
    deadline_s: float
    context: int  # tokens of a sequence that is served
    gpu: Gpu | None
    machine: Machine | None  # that is there: only timed
    means: Means
    sharing: Sharing
    scenario: Scenario | None
    own: Own | None


def prepared(model: str, amount: Amount, where: Where, teams: Teams, scenario: str) -> Prepared:
    """Everything that was typed, read.

    Raises:
        WrightError: all that is wrong with it at once.
    """
    from clusterwright.cli._plan import _read_size as read
    from clusterwright.cli._plan._asked import _tried
    from clusterwright.cli._plan._own import own_rows
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.sizing.fewest import searched, with_offload

    found: list[Finding] = []
    own = _tried(lambda: own_rows(where.catalog), found)
    kind = _tried(lambda: read.scenario(scenario), found)
    sharing = _tried(lambda: read.sharing(teams), found)
    machine = _tried(lambda: read.machine_there(where, own), found)
    gpu = _tried(lambda: read.gpu(where, own), found) if machine is None else None
    means = _tried(lambda: read.means(where, amount, with_offload if machine else searched), found)
    made = _tried(lambda: read.work(model, amount, kind, own), found)
    if not found and made:
        found += read.missing(machine, gpu, kind, made[1])
    if found or made is None or means is None or sharing is None:
        raise WrightError(*found, exit_code=EXIT_USAGE)
    return Prepared(*made, gpu, machine, means, sharing, kind, own)


def answered(made: Prepared) -> Answer | None:
    """The size; None where GPUs are only compared.

    Raises:
        WrightError: size-does-not-fit, deadline-impossible.
    """
    from clusterwright.plan.sizing.answer import for_deadline, on_cluster
    from clusterwright.plan.sizing.fewest import does_not_fit

    if made.workload is None:
        return None
    if made.machine:
        found = on_cluster(made.workload, made.machine, made.deadline_s, made.means, made.sharing)
        if found is None:
            raise does_not_fit(made.workload, f"{made.machine.gpus} x {made.machine.gpu.name}")
        return found
    if made.gpu is None or math.isinf(made.deadline_s):
        return None
    return for_deadline(made.workload, made.gpu, made.deadline_s, made.means, made.sharing)


def compared(made: Prepared) -> tuple[Choice, ...]:
    """The usual GPUs of the scenario, and the one that was named, side by side."""
    if made.scenario is None:
        return ()
    from clusterwright import catalog
    from clusterwright.catalog.gpus import fp64
    from clusterwright.plan.sizing import choices

    named = {made.gpu.name: made.gpu} if made.gpu else {}
    named |= {name: catalog.gpu(name, made.own) for name in choices.USUAL[made.scenario]}
    if made.scenario is choices.Scenario.SCIENCE or made.workload is None:
        return choices.for_science(named.values(), fp64(), made.own)
    if made.scenario is choices.Scenario.INFERENCE:
        model = made.workload.training.architecture
        return choices.for_inference(model, named.values(), made.context, made.own)
    return choices.for_training(made.workload, made.deadline_s, named.values(), made.means, made.own)
