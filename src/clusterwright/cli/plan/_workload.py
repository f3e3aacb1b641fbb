"""From the options of `wright plan size` to what is sized."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.catalog.hf import model_of
from clusterwright.catalog.models import architectures
from clusterwright.cli.plan._inputs import Precision, _tried, _wiring, machine_for
from clusterwright.errors import EXIT_USAGE, Finding, WrightError, did_you_mean
from clusterwright.plan.sizing.answer import Sharing
from clusterwright.plan.sizing.choices import Scenario
from clusterwright.plan.sizing.fewest import Means
from clusterwright.plan.sizing.workload import Asked, Workload, parse_count, parse_share, workload
from clusterwright.units import QuantityError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.catalog.own import Own
    from clusterwright.catalog.records import Architecture, Gpu
    from clusterwright.cli.plan._inputs import Where
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
    means: Means
    sharing: Sharing
    scenario: Scenario | None
    own: Own | None


def prepared(model: str, amount: Amount, where: Where, teams: Teams, scenario: str) -> Prepared:
    """Everything that was typed, read.

    Raises:
        WrightError: all that is wrong with it at once.
    """
    from clusterwright.cli.plan._inputs import _tried, own_rows
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.sizing.fewest import searched, with_offload

    found: list[Finding] = []
    own = _tried(lambda: own_rows(where.catalog), found)
    kind = _tried(lambda: read_scenario(scenario), found)
    sharing = _tried(lambda: read_sharing(teams), found)
    machine = _tried(lambda: machine_there(where, own), found)
    gpu = _tried(lambda: read_gpu(where, own), found) if machine is None else None
    means = _tried(lambda: read_means(where, amount, with_offload if machine else searched), found)
    made = _tried(lambda: work(model, amount, kind, own), found)
    if not found and made:
        found += missing(machine, gpu, kind, made[1])
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


CONTEXT = 4096  # tokens of a sequence that is served, where --seq says nothing


def read_scenario(text: str) -> Scenario | None:
    """What GPUs are compared for; None: nothing is compared."""
    if not text or text in set(Scenario):
        return Scenario(text) if text else None
    meant = did_you_mean(text, list(Scenario))
    mend = f"did you mean `{meant}`?" if meant else f"take one of {', '.join(Scenario)}"
    raise WrightError.of("size-workload", f"there is no scenario `{text}`", mend, exit_code=EXIT_USAGE)


def read_sharing(teams: Teams) -> Sharing:
    """Who shares the cluster; everything wrong with it at once."""
    found = [] if teams.teams >= 1 else [_no(f"--teams is {teams.teams}", "give 1 or more")]
    headroom = _tried(lambda: _share("--headroom", teams.headroom), found)
    busy = 1.0 if teams.busy in {"100%", "1"} else _tried(lambda: _share("--busy", teams.busy), found)
    if found or headroom is None or busy is None:
        raise WrightError(*found, exit_code=EXIT_USAGE)
    return Sharing(teams.teams, headroom, busy)


def machine_there(where: Where, own: Own | None) -> Machine | None:
    """Machines that are there: of a cluster file, or so many GPUs; None where the number is to be found."""
    if not where.cluster and where.gpus is None:
        return None
    if where.gpus is not None and where.gpus < 1:
        raise WrightError(_no(f"--gpus is {where.gpus}", "give 1 or more"), exit_code=EXIT_USAGE)
    return machine_for(where, own)


def read_gpu(where: Where, own: Own | None) -> Gpu | None:
    """The GPU that was named."""
    from clusterwright import catalog

    return catalog.gpu(where.gpu, own) if where.gpu else None


def read_means(where: Where, amount: Amount, plan: Planner) -> Means:
    """Machines of the wiring that was said, cut by the search."""
    from clusterwright.plan.machines import machine

    wiring = _wiring(where)
    slow = _share("--slow-nodes", amount.slow_nodes)
    return Means(plan, lambda card, gpus: machine(card, gpus, wiring), slow_share=slow)


def _share(option: str, text: str) -> float:
    try:
        return parse_share(text)
    except QuantityError as why:
        found = Finding("bad-quantity", f"{option}: {why.message}", why.mend)
        raise WrightError(found, exit_code=EXIT_USAGE) from why


def work(
    model: str, amount: Amount, kind: Scenario | None, own: Own | None
) -> tuple[Workload | None, float, int]:
    """The workload, the deadline in seconds, and the tokens of a sequence that is served."""
    if kind is Scenario.SCIENCE:
        return None, math.inf, CONTEXT
    found: list[Finding] = []
    named = _tried(lambda: _named(model, own), found)
    # what else is wrong is told for any model
    made = _tried(lambda: _amount(named or next(iter(architectures().values())), amount, kind), found)
    if found or made is None:
        raise WrightError(*found, exit_code=EXIT_USAGE)
    return made


def _named(model: str, own: Own | None) -> Architecture:
    if not model:
        message, mend = "no model is named", "give --model llama2-7b, or the path of a config.json"
        raise WrightError.of("size-workload", message, mend, exit_code=EXIT_USAGE)
    return model_of(model, own)


def _amount(model: Architecture, amount: Amount, kind: Scenario | None) -> tuple[Workload, float, int]:
    served = kind is Scenario.INFERENCE and not (amount.samples or amount.tokens)
    asked = Asked(
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
    made, deadline_s = workload(asked)
    return made, math.inf if served else deadline_s, parse_count(amount.seq) if amount.seq else CONTEXT


def missing(
    machine: Machine | None, card: Gpu | None, kind: Scenario | None, deadline_s: float
) -> Iterator[Finding]:
    """What cannot be answered for want of an option."""
    if machine is None and card is None and kind is None:
        yield _no("no GPU is named", "give --gpu a100-80g, --cluster cluster.yaml, or --scenario training")
    sizing = machine is None and kind in {None, Scenario.TRAINING}
    if sizing and math.isinf(deadline_s):
        yield _no("there is no deadline to find a size for", "give --deadline 3h, or a number: --gpus 32")


def _no(message: str, mend: str) -> Finding:
    return Finding("size-workload", message, mend)
