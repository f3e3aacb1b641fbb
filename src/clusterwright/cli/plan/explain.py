"""`wright plan explain`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._show import show_message, show_table, show_text
from clusterwright.cli.plan._inputs import MachineOptions
from clusterwright.i18n import _

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
class RunOptions:
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
    run_options: Annotated[RunOptions, Parameter(name="*")] = RunOptions(),
    machine_options: Annotated[MachineOptions, Parameter(name="*")] = MachineOptions(),  # noqa: B008 (frozen)
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
    from clusterwright.cli._show import show_json, show_message
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.plan.predict.explained import explained
    from clusterwright.plan.predict.pages import render_html

    explanation = explained(
        *(_of_row(row, machine_options) if row else _of_options(run_options, machine_options))
    )
    if html:
        write_table(html, render_html(explanation))
        show_message(f"page: {html}")
    if json:
        show_json(explanation)
    else:
        show(explanation)
    return 0


def _of_row(location: str, machine_options: MachineOptions) -> tuple[Run, tuple[str, ...]]:
    from clusterwright.cli.plan._inputs import load_user_catalog, read_table
    from clusterwright.plan.predict.table_prediction import run_at

    path, _, line = location.rpartition(":")
    table = Path(path if path and line.isdigit() else location)
    return run_at(
        read_table(table),
        str(table),
        int(line) if path and line.isdigit() else None,
        load_user_catalog(machine_options.catalog),
    )


def _of_options(run_options: RunOptions, machine_options: MachineOptions) -> tuple[Run, tuple[str, ...]]:
    from dataclasses import replace

    from clusterwright.catalog.hf import model_of
    from clusterwright.cli.plan._inputs import load_user_catalog, machine_for
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.predict.lookup import CatalogLookup
    from clusterwright.plan.predict.runs import run_of

    if run_options.model is None:
        fix = "give --model llama3-70b, or --row IN.csv:17"
        raise WrightError.from_code("explain-no-model", _("no model is named"), fix, exit_code=EXIT_USAGE)
    user_catalog = load_user_catalog(machine_options.catalog)
    lookup = CatalogLookup(user_catalog)
    lookup.models[run_options.model] = model_of(run_options.model, user_catalog)
    machine = machine_for(machine_options, user_catalog)
    row = (
        {"source": _NEWEST}
        | run_options.row()
        | {"gpu_type": machine.gpu.name, "num_gpus": str(machine.gpus)}
    )
    run, notes = run_of(row | {"gpus_per_node": str(machine.gpus_per_node)}, lookup)
    return replace(run, machine=machine), tuple(note for note in notes if not note.startswith("network"))


_GIB = 2**30
_BAR = 30  # characters of the whole iteration
_MAX_ROWS = 8  # stages, changes
_VERDICTS = {"fits": "fits", "tight": "fits, tightly", "oom": "does not fit"}


def show(explanation: Explained) -> None:
    """Headline, waterfall, memory by stage, what would help, and what it rests on."""
    show_text(_headline(explanation))
    show_text(_("\nwhere the time goes"))
    show_table(("seconds", "share", "", "what"), _steps(explanation))
    show_text(_("\nmemory of one GPU, GiB, by pipeline stage"))
    show_table(("stage", *_names(explanation.stages[0]), "total"), _stages(explanation))
    usable = explanation.run.machine.gpu.usable_bytes / _GIB
    show_text(
        _(
            "{verdicts}: {usable:.1f} GiB usable on {gpu}",
            verdicts=_VERDICTS[str(explanation.fit)],
            usable=usable,
            gpu=explanation.run.machine.gpu.name,
        )
    )
    _show_changes(explanation)
    show_text(_("\nwhat it rests on"))
    show_table(("what", "value", "source"), explanation.origins)
    for note in explanation.notes:
        show_message(f"note: {note}")


def _headline(explanation: Explained) -> str:
    run, total = explanation.run, float(explanation.time.total)
    layout = run.layout
    degrees = f"dp {layout.dp} x tp {layout.tp} x pp {layout.pp} x cp {layout.cp}"
    sort = f", ep {layout.ep}" if run.training.architecture.experts else ""
    return (
        f"{run.training.architecture.name} on {run.machine.gpus} x {run.machine.gpu.name}: {degrees}{sort}, "
        f"microbatch {layout.micro_batch}, ZeRO {layout.zero}\n"
        f"{total:.4g} s an iteration, in 8 of 10 cases {explanation.low:.4g} to {explanation.high:.4g} s; "
        f"{explanation.tokens_per_s_per_gpu:,.0f} tokens/s a GPU; MFU {explanation.mfu:.1%}; bound: {explanation.bound}"
    )


def _steps(explanation: Explained) -> list[tuple[str, str, str, str]]:
    rows, start = [], 0.0
    for _name, label, seconds, share in explanation.parts:
        indent = round(start * _BAR)
        bar = " " * indent + "#" * max(1, round((start + share) * _BAR) - indent)
        rows.append((f"{seconds:.4g}", f"{share:.1%}", bar.ljust(_BAR), label))
        start += share
    return [
        *rows,
        (f"{float(explanation.time.total):.4g}", "100.0%", "#" * _BAR, "wall time of one iteration"),
    ]


def _names(memory: Memory) -> list[str]:
    return [part.name for part in fields(memory)]


def _stages(explanation: Explained) -> list[tuple[str, ...]]:
    """Every stage; of many, the first, the second and the last."""
    every = list(enumerate(explanation.stages))
    stages = every if len(every) <= _MAX_ROWS else [*every[:2], every[-1]]
    return [
        (
            f"{index}",
            *(f"{float(getattr(memory, name)) / _GIB:.2f}" for name in _names(memory)),
            f"{float(memory.total) / _GIB:.2f}",
        )
        for index, memory in stages
    ]


def _show_changes(explanation: Explained) -> None:
    if not explanation.changes:
        show_text(_("\nno single change that is known here makes it noticeably faster"))
        return
    show_text(_("\nwhat would help most, each alone, by the time of one sample"))
    rows = [
        (f"-{change.saved:.1%}", f"{change.seconds:.4g}", _VERDICTS[str(change.fit)], change.words)
        for change in explanation.changes[:_MAX_ROWS]
    ]
    show_table(("time", "s an iteration", "memory", "change"), rows)
