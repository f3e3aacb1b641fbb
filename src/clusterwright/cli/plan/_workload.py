"""From the options of `wright plan size` to what is sized."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.catalog.hf import model_of
from clusterwright.catalog.models import architectures
from clusterwright.cli.plan._inputs import Precision, _attempt, _wiring, machine_for
from clusterwright.errors import EXIT_USAGE, Finding, WrightError, closest_name
from clusterwright.i18n import _
from clusterwright.plan.sizing.answer import Sharing
from clusterwright.plan.sizing.choices import Scenario
from clusterwright.plan.sizing.fewest import Assumptions
from clusterwright.plan.sizing.workload import Workload, WorkloadRequest, parse_count, parse_share, workload
from clusterwright.units import QuantityError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.catalog.records import Architecture, Gpu
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.cli.plan._inputs import MachineOptions
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.answer import Answer
    from clusterwright.plan.sizing.choices import Choice
    from clusterwright.plan.sizing.fewest import Planner


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
    assumptions: Assumptions
    sharing: Sharing
    scenario: Scenario | None
    user_catalog: UserCatalog | None


def prepared(
    model: str, amount: Amount, machine_options: MachineOptions, teams: Teams, scenario: str
) -> Prepared:
    """Everything that was typed, read.

    Raises:
        WrightError: all that is wrong with it at once.
    """
    from clusterwright.cli.plan._inputs import _attempt, load_user_catalog
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.sizing.fewest import searched, with_offload

    findings: list[Finding] = []
    user_catalog = _attempt(lambda: load_user_catalog(machine_options.catalog), findings)
    kind = _attempt(lambda: read_scenario(scenario), findings)
    sharing = _attempt(lambda: read_sharing(teams), findings)
    machine = _attempt(lambda: existing_machine(machine_options, user_catalog), findings)
    gpu = _attempt(lambda: read_gpu(machine_options, user_catalog), findings) if machine is None else None
    assumptions = _attempt(
        lambda: read_assumptions(machine_options, amount, with_offload if machine else searched), findings
    )
    workload_fields = _attempt(lambda: work(model, amount, kind, user_catalog), findings)
    if not findings and workload_fields:
        findings += missing(machine, gpu, kind, workload_fields[1])
    if findings or workload_fields is None or assumptions is None or sharing is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return Prepared(*workload_fields, gpu, machine, assumptions, sharing, kind, user_catalog)


def answered(inputs: Prepared) -> Answer | None:
    """The size; None where GPUs are only compared.

    Raises:
        WrightError: size-does-not-fit, deadline-impossible.
    """
    from clusterwright.plan.sizing.answer import for_deadline, on_cluster
    from clusterwright.plan.sizing.fewest import does_not_fit

    if inputs.workload is None:
        return None
    if inputs.machine:
        answer = on_cluster(
            inputs.workload, inputs.machine, inputs.deadline_s, inputs.assumptions, inputs.sharing
        )
        if answer is None:
            raise does_not_fit(inputs.workload, f"{inputs.machine.gpus} x {inputs.machine.gpu.name}")
        return answer
    if inputs.gpu is None or math.isinf(inputs.deadline_s):
        return None
    return for_deadline(inputs.workload, inputs.gpu, inputs.deadline_s, inputs.assumptions, inputs.sharing)


def compared(inputs: Prepared) -> tuple[Choice, ...]:
    """The usual GPUs of the scenario, and the one that was named, side by side."""
    if inputs.scenario is None:
        return ()
    from clusterwright import catalog
    from clusterwright.catalog.gpus import fp64
    from clusterwright.plan.sizing import choices

    named = {inputs.gpu.name: inputs.gpu} if inputs.gpu else {}
    named |= {name: catalog.gpu(name, inputs.user_catalog) for name in choices.USUAL[inputs.scenario]}
    if inputs.scenario is choices.Scenario.SCIENCE or inputs.workload is None:
        return choices.for_science(named.values(), fp64(), inputs.user_catalog)
    if inputs.scenario is choices.Scenario.INFERENCE:
        model = inputs.workload.training.architecture
        return choices.for_inference(model, named.values(), inputs.context, inputs.user_catalog)
    return choices.for_training(
        inputs.workload, inputs.deadline_s, named.values(), inputs.assumptions, inputs.user_catalog
    )


CONTEXT = 4096  # tokens of a sequence that is served, where --seq says nothing


def read_scenario(text: str) -> Scenario | None:
    """What GPUs are compared for; None: nothing is compared."""
    if not text or text in set(Scenario):
        return Scenario(text) if text else None
    suggestion = closest_name(text, list(Scenario))
    fix = (
        _("did you mean `{suggestion}`?", suggestion=suggestion)
        if suggestion
        else _("take one of {scenario}", scenario=", ".join(Scenario))
    )
    raise WrightError.from_code(
        "size-workload", _("there is no scenario `{text}`", text=text), fix, exit_code=EXIT_USAGE
    )


def read_sharing(teams: Teams) -> Sharing:
    """Who shares the cluster; everything wrong with it at once."""
    findings = (
        [] if teams.teams >= 1 else [_no(_("--teams is {teams}", teams=teams.teams), _("give 1 or more"))]
    )
    headroom = _attempt(lambda: _share("--headroom", teams.headroom), findings)
    busy = 1.0 if teams.busy in {"100%", "1"} else _attempt(lambda: _share("--busy", teams.busy), findings)
    if findings or headroom is None or busy is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return Sharing(teams.teams, headroom, busy)


def existing_machine(machine_options: MachineOptions, user_catalog: UserCatalog | None) -> Machine | None:
    """Machines that are there: of a cluster file, or so many GPUs; None where the number is to be found."""
    if not machine_options.cluster and machine_options.gpus is None:
        return None
    if machine_options.gpus is not None and machine_options.gpus < 1:
        raise WrightError(
            _no(_("--gpus is {gpus}", gpus=machine_options.gpus), _("give 1 or more")), exit_code=EXIT_USAGE
        )
    return machine_for(machine_options, user_catalog)


def read_gpu(machine_options: MachineOptions, user_catalog: UserCatalog | None) -> Gpu | None:
    """The GPU that was named."""
    from clusterwright import catalog

    return catalog.gpu(machine_options.gpu, user_catalog) if machine_options.gpu else None


def read_assumptions(machine_options: MachineOptions, amount: Amount, plan: Planner) -> Assumptions:
    """Machines of the wiring that was said, cut by the search."""
    from clusterwright.plan.machines import machine

    wiring = _wiring(machine_options)
    slow = _share("--slow-nodes", amount.slow_nodes)
    return Assumptions(plan, lambda card, gpus: machine(card, gpus, wiring), slow_share=slow)


def _share(option: str, text: str) -> float:
    try:
        return parse_share(text)
    except QuantityError as error:
        finding = Finding("bad-quantity", f"{option}: {error.message}", error.fix)
        raise WrightError(finding, exit_code=EXIT_USAGE) from error


def work(
    model: str, amount: Amount, kind: Scenario | None, user_catalog: UserCatalog | None
) -> tuple[Workload | None, float, int]:
    """The workload, the deadline in seconds, and the tokens of a sequence that is served."""
    if kind is Scenario.SCIENCE:
        return None, math.inf, CONTEXT
    findings: list[Finding] = []
    named = _attempt(lambda: _named(model, user_catalog), findings)
    # what else is wrong is told for any model
    workload_fields = _attempt(
        lambda: _amount(named or next(iter(architectures().values())), amount, kind), findings
    )
    if findings or workload_fields is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return workload_fields


def _named(model: str, user_catalog: UserCatalog | None) -> Architecture:
    if not model:
        message, fix = "no model is named", "give --model llama2-7b, or the path of a config.json"
        raise WrightError.from_code("size-workload", message, fix, exit_code=EXIT_USAGE)
    return model_of(model, user_catalog)


def _amount(model: Architecture, amount: Amount, kind: Scenario | None) -> tuple[Workload, float, int]:
    served = kind is Scenario.INFERENCE and not (amount.samples or amount.tokens)
    request = WorkloadRequest(
        model,
        amount.task,
        amount.samples,
        "1" if served else amount.tokens,
        amount.seq,
        amount.epochs,
        amount.global_batch,
        amount.deadline,
        amount.precision,
    )
    training_workload, deadline_s = workload(request)
    return (
        training_workload,
        math.inf if served else deadline_s,
        parse_count(amount.seq) if amount.seq else CONTEXT,
    )


def missing(
    machine: Machine | None, card: Gpu | None, kind: Scenario | None, deadline_s: float
) -> Iterator[Finding]:
    """What cannot be answered for want of an option."""
    if machine is None and card is None and kind is None:
        yield _no(_("no GPU is named"), "give --gpu a100-80g, --cluster cluster.yaml, or --scenario training")
    sizing = machine is None and kind in {None, Scenario.TRAINING}
    if sizing and math.isinf(deadline_s):
        yield _no(_("there is no deadline to find a size for"), "give --deadline 3h, or a number: --gpus 32")


def _no(message: str, fix: str) -> Finding:
    return Finding("size-workload", message, fix)
