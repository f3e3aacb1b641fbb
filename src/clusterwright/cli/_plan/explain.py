"""`wright plan explain`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._plan._asked import Where

if TYPE_CHECKING:
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
    from clusterwright.cli._plan._explained import tell
    from clusterwright.cli._plan._tables import write_table
    from clusterwright.cli._show import say, show_json
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
    from clusterwright.cli._plan._own import own_rows
    from clusterwright.cli._plan._tables import read_table
    from clusterwright.plan.predict.whole import run_at

    path, _, line = place.rpartition(":")
    table = Path(path if path and line.isdigit() else place)
    return run_at(
        read_table(table), str(table), int(line) if path and line.isdigit() else None, own_rows(where.catalog)
    )


def _of_options(cut: Cut, where: Where) -> tuple[Run, tuple[str, ...]]:
    from dataclasses import replace

    from clusterwright.catalog.hf import model_of
    from clusterwright.cli._plan._asked import machine_for
    from clusterwright.cli._plan._own import own_rows
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
