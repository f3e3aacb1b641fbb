"""`wright plan explain`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._show import say, show_table, show_text
from clusterwright.cli.plan._inputs import Where

if TYPE_CHECKING:
    from clusterwright.plan.predict.explained import Explained
    from clusterwright.plan.prediction import Memory
    from clusterwright.plan.run import Run


Flag = Annotated[bool, Parameter(negative="")]
_NEWEST = "2025"  # software of which no year is said is new
_COLUMNS = {
    "model": "model", "seq": "seq_len", "global_batch": "global_batch", "micro_batch": "micro_batch", "tp": "tp",
    "pp": "pp", "cp": "cp", "ep": "ep", "interleave": "interleave", "zero": "zero_stage", "recompute": "recompute",
    "precision": "precision", "software": "source",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The training and how it is cut; what is left out is inferred, and said."""

    model: Annotated[str | None, Parameter(help="A model of the catalog, or the path of a config.json.")] = (
        None
    )
    seq: Annotated[int | None, Parameter(help="Tokens of one sequence.")] = None
    global_batch: Annotated[int | None, Parameter(help="Sequences of one step, over all GPUs.")] = None
    micro_batch: Annotated[int | None, Parameter(help="Sequences of one microbatch.")] = None
    tp: Annotated[int | None, Parameter(help="Tensor parallelism.")] = None
    pp: Annotated[int | None, Parameter(help="Pipeline stages.")] = None
    cp: Annotated[int | None, Parameter(help="Context parallelism.")] = None
    ep: Annotated[int | None, Parameter(help="Expert parallelism.")] = None
    interleave: Annotated[int | None, Parameter(help="Model chunks of a pipeline stage.")] = None
    zero: Annotated[int | None, Parameter(help="ZeRO stage 0 to 3; 3 is FSDP's full shard.")] = None
    recompute: Annotated[str | None, Parameter(help="none, selective or full.")] = None
    precision: Annotated[str | None, Parameter(help="fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4.")] = None
    software: Annotated[str | None, Parameter(help="Its name and year: `Megatron 2025`, `FSDP 2024`.")] = None

    def row(self) -> dict[str, str]:
        """The same as the cells of a table's row."""
        values = {column: getattr(self, name) for name, column in _COLUMNS.items()}
        return {column: str(value) for column, value in values.items() if value is not None}


def explain(
    *,
    row: str | None = None,
    cut: Annotated[Cut, Parameter(name="*")] = Cut(),
    where: Annotated[Where, Parameter(name="*")] = Where(),  # noqa: B008 (frozen)
    html: Path | None = None,
    json: Flag = False,
) -> int:
    """Take one prediction apart: from ideal FLOP time to wall time, every loss named; memory; what would help most.

    Parameters
    ----------
    row
        One row of a table in place of the options: IN.csv:17 is the row on line 17.
    html
        A page with the pictures here, too.
    json
        Everything, in seconds and bytes, as one JSON document.
    """
    from clusterwright.cli._show import say, show_json
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.plan.predict.explained import explained
    from clusterwright.plan.predict.pages import page

    found = explained(*(_of_row(row, where) if row else _of_options(cut, where)))
    if html:
        write_table(html, page(found))
        say(f"page: {html}")
    if json:
        show_json(found)
    else:
        tell(found)
    return 0


def _of_row(place: str, where: Where) -> tuple[Run, tuple[str, ...]]:
    from clusterwright.cli.plan._inputs import own_rows, read_table
    from clusterwright.plan.predict.whole import run_at

    path, _, line = place.rpartition(":")
    table = Path(path if path and line.isdigit() else place)
    return run_at(
        read_table(table), str(table), int(line) if path and line.isdigit() else None, own_rows(where.catalog)
    )


def _of_options(cut: Cut, where: Where) -> tuple[Run, tuple[str, ...]]:
    from dataclasses import replace

    from clusterwright.catalog.hf import model_of
    from clusterwright.cli.plan._inputs import machine_for, own_rows
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.predict.known import Known
    from clusterwright.plan.predict.runs import run_of

    if cut.model is None:
        mend = "give --model llama3-70b, or --row IN.csv:17"
        raise WrightError.of("explain-no-model", "no model is named", mend, exit_code=EXIT_USAGE)
    own = own_rows(where.catalog)
    known = Known(own)
    known.models[cut.model] = model_of(cut.model, own)
    machine = machine_for(where, own)
    row = {"source": _NEWEST} | cut.row() | {"gpu_type": machine.gpu.name, "num_gpus": str(machine.gpus)}
    run, notes = run_of(row | {"gpus_per_node": str(machine.gpus_per_node)}, known)
    return replace(run, machine=machine), tuple(note for note in notes if not note.startswith("network"))


_GIB = 2**30
_BAR = 30  # characters of the whole iteration
_SHOWN = 8  # stages, changes
_VERDICTS = {"fits": "fits", "tight": "fits, tightly", "oom": "does not fit"}


def tell(found: Explained) -> None:
    """Headline, waterfall, memory by stage, what would help, and what it rests on."""
    show_text(_headline(found))
    show_text("\nwhere the time goes")
    show_table(("seconds", "share", "", "what"), _steps(found))
    show_text("\nmemory of one GPU, GiB, by pipeline stage")
    show_table(("stage", *_names(found.stages[0]), "total"), _stages(found))
    usable = found.run.machine.gpu.usable_bytes / _GIB
    show_text(f"{_VERDICTS[str(found.fit)]}: {usable:.1f} GiB usable on {found.run.machine.gpu.name}")
    _tell_changes(found)
    show_text("\nwhat it rests on")
    show_table(("what", "value", "source"), found.origins)
    for note in found.notes:
        say(f"note: {note}")


def _headline(found: Explained) -> str:
    run, total = found.run, float(found.time.total)
    cut = run.layout
    degrees = f"dp {cut.dp} x tp {cut.tp} x pp {cut.pp} x cp {cut.cp}"
    sort = f", ep {cut.ep}" if run.training.architecture.experts else ""
    return (
        f"{run.training.architecture.name} on {run.machine.gpus} x {run.machine.gpu.name}: {degrees}{sort}, "
        f"microbatch {cut.micro_batch}, ZeRO {cut.zero}\n"
        f"{total:.4g} s an iteration, in 8 of 10 cases {found.low:.4g} to {found.high:.4g} s; "
        f"{found.tokens_per_s_per_gpu:,.0f} tokens/s a GPU; MFU {found.mfu:.1%}; bound: {found.bound}"
    )


def _steps(found: Explained) -> list[tuple[str, str, str, str]]:
    rows, start = [], 0.0
    for _, words, seconds, share in found.parts:
        left = round(start * _BAR)
        bar = " " * left + "#" * max(1, round((start + share) * _BAR) - left)
        rows.append((f"{seconds:.4g}", f"{share:.1%}", bar.ljust(_BAR), words))
        start += share
    return [*rows, (f"{float(found.time.total):.4g}", "100.0%", "#" * _BAR, "wall time of one iteration")]


def _names(memory: Memory) -> list[str]:
    return [part.name for part in fields(memory)]


def _stages(found: Explained) -> list[tuple[str, ...]]:
    """Every stage; of many, the first, the second and the last."""
    every = list(enumerate(found.stages))
    shown = every if len(every) <= _SHOWN else [*every[:2], every[-1]]
    return [
        (
            f"{index}",
            *(f"{float(getattr(held, name)) / _GIB:.2f}" for name in _names(held)),
            f"{float(held.total) / _GIB:.2f}",
        )
        for index, held in shown
    ]


def _tell_changes(found: Explained) -> None:
    if not found.changes:
        show_text("\nno single change that is known here makes it noticeably faster")
        return
    show_text("\nwhat would help most, each alone, by the time of one sample")
    rows = [
        (f"-{each.saved:.1%}", f"{each.seconds:.4g}", _VERDICTS[str(each.fit)], each.words)
        for each in found.changes[:_SHOWN]
    ]
    show_table(("time", "s an iteration", "memory", "change"), rows)
