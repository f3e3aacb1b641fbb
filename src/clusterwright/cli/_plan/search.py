"""`wright plan search`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from clusterwright.cli._plan._asked import Where, Work

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine, Training
    from clusterwright.plan.search import Options, Outcome

Software = Literal["megatron", "fsdp", "deepspeed", "maxtext", "nemo-automodel"]
Flag = Annotated[bool, Parameter(negative="")]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Sizes that are not searched."""

    tp: Annotated[int | None, Parameter(help="Keep tensor parallelism at this size.")] = None
    pp: Annotated[int | None, Parameter(help="Keep pipeline parallelism at this size.")] = None
    cp: Annotated[int | None, Parameter(help="Keep context parallelism at this size.")] = None
    ep: Annotated[int | None, Parameter(help="Keep expert parallelism at this size.")] = None
    dp: Annotated[int | None, Parameter(help="Keep data parallelism at this size.")] = None
    micro_batch: Annotated[int | None, Parameter(help="Keep a microbatch at so many sequences.")] = None
    max_tp: Annotated[
        int | None, Parameter(help="Largest tensor parallelism; the NVLink domain if left out.")
    ] = None


def search(
    *,
    work: Annotated[Work, Parameter(name="*")],
    where: Annotated[Where, Parameter(name="*")] = Where(),  # noqa: B008 (frozen)
    kept: Annotated[Kept, Parameter(name="*")] = Kept(),
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
    from clusterwright.cli._plan._asked import asked
    from clusterwright.errors import EXIT_FAILED
    from clusterwright.plan.run import Stack
    from clusterwright.plan.search import Options

    training, machine = asked(work, where)
    options = Options(**asdict(kept), top=top, advise=True, stack=Stack(software))
    outcome, seconds = _timed(training, machine, options)
    _write(outcome, out, html)
    _show(outcome, seconds, json=json)
    return 0 if outcome.best else EXIT_FAILED


def _timed(training: Training, machine: Machine, options: Options) -> tuple[Outcome, float]:
    """The outcome, and the seconds it took."""
    from time import perf_counter

    from clusterwright.plan.search import search as searched

    began = perf_counter()
    outcome = searched(training, machine, options=options)
    return outcome, perf_counter() - began


def _show(outcome: Outcome, seconds: float, *, json: bool) -> None:
    if json:
        from clusterwright.cli._show import show_json
        from clusterwright.plan.search.record import record

        show_json(record(outcome, seconds))
        return
    from clusterwright.cli._plan._searched import tell

    tell(outcome, seconds)


def _write(outcome: Outcome, out: Path | None, html: Path | None) -> None:
    from clusterwright.cli._plan._tables import write_table
    from clusterwright.plan.search.record import fragment

    if out and outcome.best:
        write_table(out, fragment(outcome.best.run))
    if html:
        from clusterwright.plan.search.page import page

        write_table(html, page(outcome))
