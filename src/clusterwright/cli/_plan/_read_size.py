"""Each group of options of `wright plan size`, read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clusterwright.catalog.hf import model_of
from clusterwright.catalog.models import architectures
from clusterwright.cli._plan._asked import _tried, _wiring, machine_for
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
    from clusterwright.cli._plan._asked import Where
    from clusterwright.cli._plan._sizing import Amount, Teams
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.fewest import Planner

CONTEXT = 4096  # tokens of a sequence that is served, where --seq says nothing


def scenario(text: str) -> Scenario | None:
    """What GPUs are compared for; None: nothing is compared."""
    if not text or text in set(Scenario):
        return Scenario(text) if text else None
    meant = did_you_mean(text, list(Scenario))
    mend = f"did you mean `{meant}`?" if meant else f"take one of {', '.join(Scenario)}"
    raise WrightError.of("size-workload", f"there is no scenario `{text}`", mend, exit_code=EXIT_USAGE)


def sharing(teams: Teams) -> Sharing:
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


def gpu(where: Where, own: Own | None) -> Gpu | None:
    """The GPU that was named."""
    from clusterwright import catalog

    return catalog.gpu(where.gpu, own) if where.gpu else None


def means(where: Where, amount: Amount, plan: Planner) -> Means:
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
