"""`wright plan size`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from clusterwright.cli._plan._asked import Where
from clusterwright.cli._plan._sizing import Amount, Teams

_NOTHING, _ANYWHERE, _ONE = Amount(), Where(), Teams()


def size(
    *,
    model: str = "",
    amount: Annotated[Amount, Parameter(name="*")] = _NOTHING,
    where: Annotated[Where, Parameter(name="*")] = _ANYWHERE,
    sharing: Annotated[Teams, Parameter(name="*")] = _ONE,
    scenario: str = "",
    html: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Find the fewest GPUs and nodes that do a training before its deadline, and all that is bought with them.

    With --gpus or --cluster: how long it takes there. With --scenario: GPUs for training, science or inference
    side by side. Exit code: 1 when it is not done in time.

    Parameters
    ----------
    model
        A model of the catalog, or the path of a Hugging Face config.json.
    scenario
        training, science or inference: the usual GPUs for it, beside the one of --gpu.
    html
        Write a page with the pictures here: scaling, memory, one iteration, the bill.
    json
        Everything, in seconds, bytes and money, as one JSON document.
    """
    from clusterwright.cli._plan import _sized
    from clusterwright.cli._plan._figures import finite
    from clusterwright.cli._plan._sizing import answered, compared, prepared
    from clusterwright.cli._plan._tables import write_table
    from clusterwright.cli._show import show_json
    from clusterwright.plan.sizing.materials import materials

    made = prepared(model, amount, where, sharing, scenario)
    answer, choices = answered(made), compared(made)
    bought = materials(answer.sized, answer.machine, made.own) if answer else None
    if html and answer and bought:
        from clusterwright.plan.sizing.page import page

        write_table(html, page(answer, bought, made.means))
    if json:
        show_json(finite(_sized.record(answer, bought, choices)))
    else:
        _sized.tell(answer, bought, choices)
    return 0 if answer is None or answer.in_time else 1
