"""`wright plan search`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from clusterwright.cli._plan._asked import Where, Work

if TYPE_CHECKING:
    from clusterwright.plan.search import Outcome

Software = Literal["megatron", "fsdp", "deepspeed", "maxtext", "nemo-automodel"]
Flag = Annotated[bool, Parameter(negative="")]


def search(  # noqa: PLR0913 (each option of the command line is one)
    *,
    work: Annotated[Work, Parameter(name="*")],
    where: Annotated[Where, Parameter(name="*")] = Where(),  # noqa: B008 (frozen)
    tp: int | None = None,
    pp: int | None = None,
    cp: int | None = None,
    ep: int | None = None,
    dp: int | None = None,
    micro_batch: int | None = None,
    max_tp: int | None = None,
    software: Software = "megatron",
    top: int = 10,
    out: Path | None = None,
    html: Path | None = None,
    json: Flag = False,
) -> int:
    """Find the fastest way to cut a model over GPUs, and say why every other way is slower or does not fit.

    Exit code: 1 when nothing fits; what would help is said then.

    Parameters
    ----------
    tp
        Keep tensor parallelism at this size.
    pp
        Keep pipeline parallelism at this size.
    cp
        Keep context parallelism at this size.
    ep
        Keep expert parallelism at this size.
    dp
        Keep data parallelism at this size.
    micro_batch
        Keep a microbatch at so many sequences.
    max_tp
        Largest tensor parallelism; the NVLink domain if left out.
    software
        Whose efficiency is expected, in its newest version.
    top
        How many layouts are ranked.
    out
        Write the best layout's `parallel:` section for job.yaml here.
    html
        Write a page with the pictures here: layouts, time, memory.
    json
        Everything, in seconds and bytes, as one JSON document.
    """
    from time import perf_counter  # noqa: PLC0415 (start-up time)

    from clusterwright.cli._plan._asked import asked  # noqa: PLC0415
    from clusterwright.cli._plan._searched import tell  # noqa: PLC0415
    from clusterwright.cli._show import show_json  # noqa: PLC0415
    from clusterwright.errors import EXIT_FAILED  # noqa: PLC0415
    from clusterwright.plan.run import Stack  # noqa: PLC0415
    from clusterwright.plan.search import Options  # noqa: PLC0415
    from clusterwright.plan.search import search as searched  # noqa: PLC0415
    from clusterwright.plan.search.record import record  # noqa: PLC0415

    training, machine = asked(work, where)
    options = Options(
        tp, pp, cp, ep, None, dp, micro_batch, max_tp=max_tp, top=top, advise=True, stack=Stack(software)
    )
    began = perf_counter()
    outcome = searched(training, machine, options=options)
    seconds = perf_counter() - began
    _write(outcome, out, html)
    if json:
        show_json(record(outcome, seconds))
    else:
        tell(outcome, seconds)
    return 0 if outcome.best else EXIT_FAILED


def _write(outcome: Outcome, out: Path | None, html: Path | None) -> None:
    from clusterwright.cli._plan._tables import write_table  # noqa: PLC0415 (start-up time)
    from clusterwright.plan.search.fragment import fragment  # noqa: PLC0415

    if out and outcome.best:
        write_table(out, fragment(outcome.best.run))
    if html:
        from clusterwright.plan.search.page import page  # noqa: PLC0415 (only for a page)

        write_table(html, page(outcome))
