"""`wright plan gradients`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from clusterwright.i18n import _

_FLOAT_BYTES = 4


def gradients(
    *,
    parameters: Annotated[float, Parameter(validator=Number(gt=0))],
    step: Annotated[float, Parameter(validator=Number(gt=0))],
    hosts: Annotated[int, Parameter(validator=Number(gte=2))],
    rate: str,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """How long steps are over a slow network with each way of adding up gradients, and what each way costs.

    For data parallelism of a whole model on each rank. Times are at line rate, beneath the backward pass.

    Parameters
    ----------
    parameters
        What is trained: 25e6.
    step
        Seconds of a step on one host, without the network: 0.25 or 4.
    hosts
        That share the work.
    rate
        Of a host's link: 25Gbit/s.
    json
        As one JSON document.
    """
    from clusterwright.cli._show import show_json, show_table, show_text
    from clusterwright.plan.gradients import Training, advised, judged

    training = Training(parameters * _FLOAT_BYTES, step, hosts, _bytes_per_s(rate))
    results, best = judged(training), advised(training)
    if json:
        show_json({"ways": [asdict(result) for result in results], "advised": best.way.setting})
        return 0
    rows = [
        (result.way.setting, f"{result.step_s:.3g} s", f"{result.efficiency:.2f}", result.way.cost)
        for result in results
    ]
    show_table(("in the job file", "step", "efficiency", "cost, as measured"), rows)
    show_text(
        _(
            "\n{setting}: the cheapest that leaves enough of a step, or else the fastest",
            setting=best.way.setting,
        )
    )
    return 0


def _bytes_per_s(rate: str) -> float:
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.units import QuantityError, parse_rate

    try:
        return parse_rate(rate) / 8
    except QuantityError as error:
        raise WrightError.from_code(
            "bad-quantity", f"--rate: {error.message}", error.fix, exit_code=EXIT_USAGE
        ) from error
