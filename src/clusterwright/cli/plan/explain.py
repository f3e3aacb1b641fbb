"""`wright plan explain`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from clusterwright.cli._live_names import MODELS
from clusterwright.cli._quantities import PrecisionText
from clusterwright.cli._show import show_heading, show_note, show_table, show_text
from clusterwright.cli.plan._inputs import POSITIVE, MachineOptions
from clusterwright.i18n import N_, _
from clusterwright.units import human_duration

if TYPE_CHECKING:
    from clusterwright.plan.predict.explained import Explained
    from clusterwright.plan.prediction import Memory
    from clusterwright.plan.run import Run


Flag = Annotated[bool, Parameter(negative="")]
_COLUMNS = {
    "model": "model", "seq": "seq_len", "global_batch": "global_batch", "micro_batch": "micro_batch", "tp": "tp",
    "pp": "pp", "cp": "cp", "ep": "ep", "interleave": "interleave", "zero": "zero_stage", "recompute": "recompute",
    "precision": "precision", "software": "source",
}  # fmt: skip


_RECOMPUTE = ("none", "selective", "full")


def _require_recomputation(_type: object, kind: str | None) -> None:
    """Raise WrightError for a misspelled recomputation, whose prediction would silently be that of another one."""
    from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean

    if kind is not None and kind not in _RECOMPUTE:
        fix = did_you_mean(kind, _RECOMPUTE, 0.6) + _(
            "choose one of {choices}", choices=", ".join(_RECOMPUTE)
        )
        message = _("{option} cannot be `{value}`", option="--recompute", value=kind)
        raise WrightError.from_code("not-a-choice", message, fix, exit_code=EXIT_USAGE)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The training and its layout; missing values are inferred and reported."""

    model: Annotated[
        str | None,
        Parameter(help="Model, as in `wright plan catalog models`, or path of a Hugging Face config.json."),
        MODELS,
    ] = None
    seq: Annotated[int | None, Parameter(help="Tokens per sequence.", validator=POSITIVE)] = None
    global_batch: Annotated[
        int | None, Parameter(help="Sequences per step, over all GPUs.", validator=POSITIVE)
    ] = None
    micro_batch: Annotated[int | None, Parameter(help="Sequences per microbatch.", validator=POSITIVE)] = None
    tp: Annotated[int | None, Parameter(help="Tensor parallel size.", validator=POSITIVE)] = None
    pp: Annotated[int | None, Parameter(help="Pipeline stages.", validator=POSITIVE)] = None
    cp: Annotated[int | None, Parameter(help="Context parallel size.", validator=POSITIVE)] = None
    ep: Annotated[int | None, Parameter(help="Expert parallel size.", validator=POSITIVE)] = None
    interleave: Annotated[
        int | None, Parameter(help="Model chunks per pipeline stage.", validator=POSITIVE)
    ] = None
    zero: Annotated[
        int | None,
        Parameter(help="ZeRO stage, 0 to 3; 3 is FSDP's full shard.", validator=Number(gte=0, lte=3)),
    ] = None
    recompute: Annotated[
        str | None,
        Parameter(
            help="Activation recomputation: none, selective or full.", validator=_require_recomputation
        ),
    ] = None
    precision: Annotated[
        PrecisionText | None, Parameter(help="Precision: fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4.")
    ] = None
    software: Annotated[
        str | None, Parameter(help="Framework and year, such as `Megatron 2025` or `FSDP 2024`.")
    ] = None

    def row(self) -> dict[str, str]:
        """Return the options that are set as a row of a table: texts by column."""
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
    """Explain one prediction: from ideal FLOP time to wall time with every loss, memory, and the best improvements.

    Parameters
    ----------
    row
        Row of a table instead of the options: IN.csv:17 is the row on line 17.
    html
        Write a report to this HTML file.
    json
        Print one JSON document, in seconds and bytes.
    """
    from clusterwright.cli._show import show_json, show_message
    from clusterwright.cli.plan._inputs import write_table
    from clusterwright.plan.predict.explained import explained
    from clusterwright.plan.predict.pages import render_html

    explanation = explained(
        *(_of_row(row, machine_options) if row else options_run(run_options, machine_options))
    )
    if html:
        write_table(html, render_html(explanation))
        show_message(_("report: {file}", file=html))
    if json:
        show_json(explanation)
    else:
        show(explanation)
    return 0


def _of_row(location: str, machine_options: MachineOptions) -> tuple[Run, tuple[str, ...]]:
    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.cli.plan._inputs import read_table
    from clusterwright.plan.predict.table_prediction import run_at

    path, _colon, line = location.rpartition(":")
    table = Path(path if path and line.isdigit() else location)
    return run_at(
        read_table(table),
        str(table),
        int(line) if path and line.isdigit() else None,
        load_user_catalog(machine_options.catalog),
    )


def options_run(run_options: RunOptions, machine_options: MachineOptions) -> tuple[Run, tuple[str, ...]]:
    """Return the run that the options describe, with notes; raise WrightError for one that cannot be."""
    from clusterwright.catalog.hf import model_of
    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.cli.plan._inputs import machine_for
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.plan.assumptions import STACK
    from clusterwright.plan.predict.lookup import CatalogLookup
    from clusterwright.plan.predict.runs import run_of

    if run_options.model is None:
        fix = _("pass --model llama3-70b or --row IN.csv:17")
        raise WrightError.from_code("explain-no-model", _("no model is given"), fix, exit_code=EXIT_USAGE)
    _require_software(run_options)
    user_catalog = load_user_catalog(machine_options.catalog)
    lookup = CatalogLookup(user_catalog)
    lookup.models[run_options.model] = model_of(run_options.model, user_catalog)
    machine = machine_for(machine_options, user_catalog)
    row = (
        {"source": str(STACK.year)}  # software without a year is assumed to be new
        | run_options.row()
        | {"gpu_type": machine.gpu.name, "num_gpus": str(machine.gpus)}
    )
    return run_of(row | {"gpus_per_node": str(machine.gpus_per_node)}, lookup, machine)


def _require_software(run_options: RunOptions) -> None:
    """Raise WrightError for a misspelled framework.

    The prediction would silently be that of another one.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean
    from clusterwright.plan.predict.stacks import SOFTWARE, family_of

    software = run_options.software
    if software is not None and family_of(software) is None:
        message = _("--software `{text}` names no software that is known here", text=software)
        fix = did_you_mean(software.split()[0] if software.split() else "", SOFTWARE, 0.6)
        fix += _(
            "write one of {names} with its year, such as --software 'FSDP 2024'", names=", ".join(SOFTWARE)
        )
        raise WrightError.from_code("unknown-name", message, fix, exit_code=EXIT_USAGE)


_GIB = 2**30
_BAR = 30  # characters per iteration
_MAX_ROWS = 8  # stages, changes
_VERDICTS = {"fits": N_("fits"), "tight": N_("fits tightly"), "oom": N_("does not fit")}


def show(explanation: Explained) -> None:
    """Print a prediction: the headline, the losses, memory by stage, the best improvements, and the assumptions."""
    show_text(_headline(explanation))
    show_heading(_("time"))
    show_table(("seconds", "share", "", "part"), _steps(explanation))
    show_heading(_("memory per GPU by pipeline stage (GiB)"))
    show_table(("stage", *_names(explanation.stages[0]), "total"), _stages(explanation))
    usable = explanation.run.machine.gpu.usable_bytes / _GIB
    show_text(
        _(
            "{verdict}: {usable:.1f} GiB usable on {gpu}",
            verdict=_(_VERDICTS[str(explanation.memory_fit)]),
            usable=usable,
            gpu=explanation.run.machine.gpu.name,
        )
    )
    _show_changes(explanation)
    show_heading(_("inputs"))
    show_table(("input", "value", "source"), explanation.origins)
    for note in explanation.notes:
        show_note(note)


def _headline(explanation: Explained) -> str:
    from clusterwright.plan.assumptions import describe_assumptions

    run, total = explanation.run, float(explanation.time.total)
    layout = run.layout
    degrees = f"dp {layout.dp} x tp {layout.tp} x pp {layout.pp} x cp {layout.cp}"
    sort = f", ep {layout.ep}" if run.training.architecture.experts else ""
    training = _(
        "{model} on {gpus} x {gpu}: {sizes}, microbatch {microbatch}, ZeRO {zero}",
        model=run.training.architecture.name,
        gpus=run.machine.gpus,
        gpu=run.machine.gpu.name,
        sizes=degrees + sort,
        microbatch=layout.micro_batch,
        zero=layout.zero,
    )
    speed = _(
        "{time} per iteration ({low} to {high}, P10 to P90); {rate:,.0f} tokens/s per GPU; MFU "
        "{mfu:.1%}; bound: {bound}",
        time=human_duration(total),
        low=human_duration(explanation.low),
        high=human_duration(explanation.high),
        rate=explanation.tokens_per_s_per_gpu,
        mfu=explanation.mfu,
        bound=explanation.bound,
    )
    fits_memory = str(explanation.memory_fit) != "oom"
    memory = (
        () if fits_memory else (_("does not fit into the memory of the GPUs; the times are those if it did"),)
    )
    return "\n".join((training, *memory, speed, describe_assumptions(run)))


def _steps(explanation: Explained) -> list[tuple[str, str, str, str]]:
    rows, start = [], 0.0
    for _name, label, seconds, share in explanation.parts:
        indent = round(start * _BAR)
        bar = " " * indent + "#" * max(1, round((start + share) * _BAR) - indent)
        rows.append((f"{seconds:.4g}", f"{share:.1%}", bar.ljust(_BAR), label))
        start += share
    return [
        *rows,
        (f"{float(explanation.time.total):.4g}", "100.0%", "#" * _BAR, _("wall time of one iteration")),
    ]


def _names(memory: Memory) -> list[str]:
    return [part.name for part in fields(memory)]


def _stages(explanation: Explained) -> list[tuple[str, ...]]:
    """Return a row of memory for every pipeline stage; of many, for the first, the second and the last."""
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
        show_heading(_("no single known change makes the training noticeably faster"))
        return
    show_heading(_("best improvements, each alone, by time per sample"))
    rows = [
        (
            f"-{change.saved:.1%}",
            f"{change.seconds:.4g}",
            _(_VERDICTS[str(change.memory_fit)]),
            change.description,
        )
        for change in explanation.changes[:_MAX_ROWS]
    ]
    show_table(("time", "iteration (s)", "memory", "change"), rows)
