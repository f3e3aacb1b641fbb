"""`wright plan gradients`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from clusterwright.cli._quantities import Rate
from clusterwright.i18n import _
from clusterwright.units import human_duration

_FLOAT_BYTES = 4


def gradients(
    *,
    parameters: Annotated[float, Parameter(validator=Number(gt=0))],
    step: Annotated[float, Parameter(validator=Number(gt=0))],
    hosts: Annotated[int, Parameter(validator=Number(gte=2))],
    rate: Rate,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Compare ways to reduce gradients over a slow network: step time, efficiency and cost.

    For data parallelism with a full model per rank. Times assume line rate, overlapped with the backward pass.

    Parameters
    ----------
    parameters
        Number of trained parameters, such as 25e6.
    step
        Seconds per step on one host without the network, such as 0.25.
    hosts
        Number of hosts.
    rate
        Link rate of a host, such as 25Gbit/s.
    json
        Print one JSON document.
    """
    from clusterwright.cli._show import show_heading, show_json, show_table
    from clusterwright.plan.gradients import Training, advised, judged

    training = Training(parameters * _FLOAT_BYTES, step, hosts, _bytes_per_s(rate))
    results, best = judged(training), advised(training)
    if json:
        show_json({"methods": [asdict(result) for result in results], "advised": best.method.setting})
        return 0
    rows = [
        (
            _(result.method.setting),
            human_duration(result.step_s),
            f"{result.efficiency:.2f}",
            _(result.method.cost),
        )
        for result in results
    ]
    show_table(("setting in the job file", "step", "efficiency", "measured cost"), rows)
    show_heading(
        _(
            "recommended: {setting}, the cheapest efficient one, or else the fastest",
            setting=_(best.method.setting),
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
