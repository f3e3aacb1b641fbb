"""The options of `wright plan size`, and the sizing problem that they describe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.catalog.hf import model_of
from clusterwright.catalog.models import architectures
from clusterwright.cli._numbers import Count, Positive
from clusterwright.cli._quantities import BigCount, Duration, Share
from clusterwright.cli.plan._inputs import machine_for, read_money, wiring_of
from clusterwright.errors import EXIT_USAGE, Finding, WrightError, unknown_name_fix
from clusterwright.i18n import _
from clusterwright.plan.inputs import Precision, Software, attempt
from clusterwright.plan.sizing.answer import Sharing
from clusterwright.plan.sizing.choices import Scenario
from clusterwright.plan.sizing.fewest import Assumptions
from clusterwright.plan.sizing.size import answer, missing_inputs
from clusterwright.plan.sizing.workload import Workload, WorkloadRequest, parse_count, parse_share, workload
from clusterwright.units import QuantityError

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture, Gpu
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.cli.plan._inputs import MachineOptions, MoneyOptions
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.answer import Answer
    from clusterwright.plan.sizing.choices import Choice
    from clusterwright.plan.sizing.fewest import Planner


@dataclass(frozen=True, kw_only=True)
class Amount:
    """The size of the training and its deadline."""

    task: Annotated[
        str, Parameter(help="pretrain, sft or lora; default: sft with --samples, else pretrain.")
    ] = ""
    samples: Annotated[BigCount, Parameter(help="Sequences per epoch, such as 52k.")] = ""
    tokens: Annotated[BigCount, Parameter(help="Tokens per epoch instead of --samples, such as 1e9.")] = ""
    seq: Annotated[BigCount, Parameter(help="Tokens per sequence; default: typical for the task.")] = ""
    epochs: Annotated[Positive | None, Parameter(help="Number of epochs.")] = None
    global_batch: Annotated[BigCount, Parameter(help="Sequences per step, over all GPUs.")] = ""
    precision: Annotated[Precision, Parameter(help="Precision of the matrix products.")] = "bf16"
    software: Annotated[
        Software, Parameter(help="Framework whose efficiency is assumed, in its newest version.")
    ] = "megatron"
    deadline: Annotated[Duration, Parameter(help="Deadline, such as 3h.")] = ""
    slow_nodes: Annotated[Share, Parameter(help="Share of the nodes that are 10% slower, such as 1%.")] = "0%"


@dataclass(frozen=True, kw_only=True)
class Teams:
    """The teams that share the cluster."""

    teams: Annotated[Count, Parameter(help="Number of teams with one such training each.")] = 1
    headroom: Annotated[Share, Parameter(help="Share of the nodes to keep free, such as 30%.")] = "0%"
    busy: Annotated[Share, Parameter(help="Share of the time in which a team has a training to run.")] = (
        "100%"
    )


@dataclass(frozen=True)
class Prepared:
    """The problem: a size, a comparison, or both."""

    workload: Workload | None
    deadline_s: float
    context: int  # tokens per served sequence
    gpu: Gpu | None
    machine: Machine | None  # an existing machine: only timed
    assumptions: Assumptions
    sharing: Sharing
    scenario: Scenario | None
    user_catalog: UserCatalog | None
    rates: tuple[str, ...] = ()  # exchange rates of the prices


def prepared(
    model: str,
    amount: Amount,
    machine_options: MachineOptions,
    teams: Teams,
    scenario: str,
    money_options: MoneyOptions,
) -> Prepared:
    """Return what the options of `wright plan size` ask for: workload, machines, assumptions and sharing.

    Raises:
        WrightError: with everything that is wrong with them.
    """
    from functools import partial

    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.run import Stack
    from clusterwright.plan.sizing.fewest import on_existing, searched

    findings: list[Finding] = []
    money = attempt(lambda: read_money(money_options, load_user_catalog(machine_options.catalog)), findings)
    user_catalog, _own, rates = money or (None, None, [])
    kind = attempt(lambda: read_scenario(scenario), findings)
    sharing = attempt(lambda: read_sharing(teams), findings)
    machine = attempt(lambda: existing_machine(machine_options, user_catalog), findings)
    gpu = attempt(lambda: read_gpu(machine_options, user_catalog), findings) if machine is None else None
    plan = partial(on_existing if machine else searched, stack=Stack(amount.software))
    assumptions = attempt(lambda: read_assumptions(machine_options, amount, plan), findings)
    workload_fields = attempt(lambda: work(model, amount, kind, user_catalog), findings)
    if not findings and workload_fields:
        findings += missing_inputs(machine or gpu, workload_fields[1], kind)
    if findings or workload_fields is None or assumptions is None or sharing is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return Prepared(*workload_fields, gpu, machine, assumptions, sharing, kind, user_catalog, tuple(rates))


def answered(inputs: Prepared) -> Answer | None:
    """Return the size of the cluster, or how long the training takes on it; None if GPUs are only compared.

    Raises:
        WrightError: size-does-not-fit, deadline-impossible.
    """
    hardware = inputs.machine or (None if math.isinf(inputs.deadline_s) else inputs.gpu)
    if inputs.workload is None or hardware is None:
        return None
    return answer(inputs.workload, inputs.deadline_s, hardware, inputs.assumptions, inputs.sharing)


def compared(inputs: Prepared) -> tuple[Choice, ...]:
    """Return the comparison of the scenario's common GPUs and the named one; empty without a scenario.

    Without a workload it is the comparison for science.
    """
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


CONTEXT = 4096  # default tokens per served sequence


def read_scenario(text: str) -> Scenario | None:
    """Return the scenario of that name; None for an empty text.

    Raises:
        WrightError: no scenario has that name.
    """
    if not text or text in set(Scenario):
        return Scenario(text) if text else None
    fix = unknown_name_fix(text, Scenario)
    raise WrightError.from_code(
        "size-workload", _("no scenario has the name `{name}`", name=text), fix, exit_code=EXIT_USAGE
    )


def read_sharing(teams: Teams) -> Sharing:
    """Return how teams share the cluster; raise WrightError with everything that is wrong with the options."""
    findings = [] if teams.teams >= 1 else [_no(_("--teams must be at least 1"), _("pass --teams 1 or more"))]
    headroom = attempt(lambda: _share("--headroom", teams.headroom), findings)
    busy = 1.0 if teams.busy in {"100%", "1"} else attempt(lambda: _share("--busy", teams.busy), findings)
    if findings or headroom is None or busy is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return Sharing(teams.teams, headroom, busy)


def existing_machine(machine_options: MachineOptions, user_catalog: UserCatalog | None) -> Machine | None:
    """Return the machine of a cluster file or of --gpus; None if the number of GPUs is to be found.

    Raises:
        WrightError: --gpus is below 1.
    """
    if not machine_options.cluster and machine_options.gpus is None:
        return None
    if machine_options.gpus is not None and machine_options.gpus < 1:
        raise WrightError(
            _no(_("--gpus must be at least 1"), _("pass --gpus 1 or more")), exit_code=EXIT_USAGE
        )
    return machine_for(machine_options, user_catalog)


def read_gpu(machine_options: MachineOptions, user_catalog: UserCatalog | None) -> Gpu | None:
    """Return the GPU of the catalog that the options name; None without one."""
    from clusterwright import catalog

    return catalog.gpu(machine_options.gpu, user_catalog) if machine_options.gpu else None


def read_assumptions(machine_options: MachineOptions, amount: Amount, plan: Planner) -> Assumptions:
    """Return the assumptions of sizing: planner, wiring of the options, and share of slow nodes."""
    from clusterwright.plan.machines import machine

    wiring = wiring_of(machine_options)
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
    """Return the workload, the deadline in seconds, and the tokens per served sequence.

    For science no workload and no deadline.

    Raises:
        WrightError: the model or the amount is invalid; it has all errors of both.
    """
    if kind is Scenario.SCIENCE:
        return None, math.inf, CONTEXT
    findings: list[Finding] = []
    named = attempt(lambda: _named(model, user_catalog), findings)
    # With an invalid model, a default model finds the other errors.
    workload_fields = attempt(
        lambda: _amount(named or next(iter(architectures().values())), amount, kind), findings
    )
    if findings or workload_fields is None:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return workload_fields


def _named(model: str, user_catalog: UserCatalog | None) -> Architecture:
    if not model:
        message, fix = _("no model is given"), _("pass --model llama2-7b, or the path of a config.json")
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


def _no(message: str, fix: str) -> Finding:
    return Finding("size-workload", message, fix)
