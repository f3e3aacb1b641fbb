"""Conversion of one row of a table of runs to a `Run`, with a note for everything that was inferred."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan import memory
from clusterwright.plan.assumptions import NO_LAYOUT, STACK
from clusterwright.plan.parameters import count
from clusterwright.plan.predict import layouts, networks, row_text, shapes, stacks
from clusterwright.plan.predict.cells import PARALLELISM, Cells
from clusterwright.plan.predict.fitting import fitting
from clusterwright.plan.predict.infer_memory_notes import with_memory_facts
from clusterwright.plan.predict.lookup import CatalogLookup
from clusterwright.plan.predict.setting import Setting
from clusterwright.plan.run import Run, Training

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture
    from clusterwright.plan.prediction import Memory
    from clusterwright.plan.run import Machine, Stack

_FLASH_SINCE = 2023  # flash attention in most software; Dao et al. 2205.14135
_FLASH_IN_MEGATRON_SINCE = 2024  # before, an option there; the default with Transformer Engine
_USUAL_SEQ_LEN = 4096  # for unknown models
_TASKS = ((r"lora|peft", "lora"), (r"sft|fine-?tun", "sft"), (r"pre-?train|^$", "pretrain"))
# Tokens per sequence in pretraining, from the models' papers.
_SEQ_LENS = (
    (r"llama-?_?3|llama-?4|torchtitan", 8192),
    (r"bert", 512),
    (r"gpt-?[23]|opt-|bloom|mpt|gopher|palm|mt-nlg|turing|llama-?\d*b", 2048),
)
_RECIPES = r"\bnemo\b|megatron-bridge|dgxc"  # tuned by the vendor of the GPU


def run_of(
    row: dict[str, str], lookup: CatalogLookup | None = None, machine: Machine | None = None
) -> tuple[Run, tuple[str, ...]]:
    """Return the run that a row describes, and notes on what was inferred; `machine`: instead of the row's.

    Columns are those of the published run tables; measured ones are ignored. Raises `WrightError` with all
    problems of the row.
    """
    run, _, notes = run_with_peak(row, lookup, machine)
    return run, notes


def run_with_peak(
    row: dict[str, str], lookup: CatalogLookup | None = None, machine: Machine | None = None
) -> tuple[Run, Memory, tuple[str, ...]]:
    """Return the run that a row describes, its predicted peak memory, and notes on what was inferred.

    A row of model, GPUs and batch only is planned as by `wright plan search`: with the fastest layout that fits; if
    none does, its layout is inferred as for other rows. `machine` replaces that of the row.

    Raises:
        WrightError: with all problems of the row.
    """
    facts = lookup or CatalogLookup()
    cells = Cells.from_row(row)
    settings = row_text.settings(cells)
    gpu = facts.gpu(cells)
    is_open = _is_open(cells)
    stack = STACK if is_open else stacks.stack(cells, gpu.arch)
    model = shapes.architecture(cells, facts.architecture, settings)
    gpus = layouts.gpus_of(cells, networks.node_of(cells, gpu))
    machine = machine or networks.of_row(cells, gpu, gpus)
    if is_open and not cells.problems and (run := _planned(cells, model, machine)):
        return run, memory.peak(run), tuple(cells.notes)
    node = machine.gpus_per_node
    setting = Setting(model, count(model).total, gpu, node, gpus, stack, settings)
    layout, batch = layouts.layout(cells, setting)
    training = _training(cells, setting, batch)
    if cells.problems:
        raise WrightError(*cells.problems, exit_code=EXIT_USAGE)
    run = with_memory_facts(Run(training, layout, machine, stack), cells, settings)
    run, peak = fitting(run, cells)
    return run, peak, tuple(cells.notes)


# A row that gives the first and none of the second is a question about a plan, not a report of a run.
_OPEN = ("global_batch", "seq_len")
_DECIDED = ("micro_batch", *PARALLELISM, "notes_url")


def _is_open(cells: Cells) -> bool:
    """True if the row leaves layout and software to the planner."""
    is_complete = all(cells.text(column) for column in _OPEN)
    has_source = cells.text("source") not in {"", str(STACK.year)}
    return is_complete and not has_source and not any(cells.text(column) for column in _DECIDED)


def _planned(cells: Cells, model: Architecture, machine: Machine) -> Run | None:
    """Return the run of an open row with the fastest layout; None if none fits, divides or can be searched.

    Also None for a row with problems, or without sequence length, batch or layers. Success adds a note.
    """
    seq_len, batch = cells.integer("seq_len"), cells.integer("global_batch")
    if not (seq_len and batch and model.layers) or cells.problems:
        return None
    precision = row_text.precision(cells, machine.gpu.name)
    training = Training(model, seq_len, batch, precision, task=_task(cells))
    run = _fastest(training, machine) if not cells.problems else None
    if run is not None:
        cells.note(_("no layout given: the fastest that fits, as of `wright plan search`"))
    return run


def _fastest(training: Training, machine: Machine) -> Run | None:
    """Return the run with the fastest layout under the defaults; None if none fits or divides, or without numpy."""
    from clusterwright.plan.search import fastest
    from clusterwright.plan.search.options import Options

    try:
        best = fastest.search(training, machine, options=Options(top=1)).best
    except WrightError as error:
        if any(finding.code in {NO_LAYOUT, "plan-needs-numpy"} for finding in error.findings):
            return None
        raise
    return best.run if best else None


def _training(cells: Cells, setting: Setting, batch: int) -> Training:
    seq_len = cells.integer("seq_len")
    if seq_len is None:
        seq_len = next(
            (tokens for pattern, tokens in _SEQ_LENS if row_text.mentions(cells, pattern)), _USUAL_SEQ_LEN
        )
        cells.note(_("no sequence length given: assumed {seq_len}", seq_len=seq_len), "seq_len")
    precision = row_text.precision(cells, setting.gpu.name)
    return Training(
        architecture=setting.model,
        seq_len=seq_len,
        global_batch=batch,
        precision=precision,
        task=_task(cells),
        optimizer="adam8bit" if row_text.mentions(cells, r"bnb-optimi[sz]er|8-bit adam|adam8bit") else "adam",
        gradient_bytes=_gradient_bytes(cells, setting.stack, precision),
        flash_attention=_flash(setting),
        dropout=_by_megatron_before_flash(setting),
    )


def _task(cells: Cells) -> str:
    text = cells.text("task").lower()
    for pattern, task in _TASKS:
        if re.search(pattern, text):
            return task
    if text:
        cells.note(_("unknown task `{text}`: assumed pretraining", text=text))
    return "pretrain"


def _flash(setting: Setting) -> bool:
    backend = setting.settings.get("attention-backend")
    if backend:
        return backend not in {"unfused", "local"}
    if setting.settings.get("transformer-impl") == "local":
        return setting.settings.get("use-flash-attn") == "True"
    return setting.stack.year >= _FLASH_SINCE and not _by_megatron_before_flash(setting)


def _by_megatron_before_flash(setting: Setting) -> bool:
    """True for Megatron before flash attention, whose GPT recipes also had dropout."""
    return setting.stack.family.startswith("megatron") and setting.stack.year < _FLASH_IN_MEGATRON_SINCE


def _gradient_bytes(cells: Cells, stack: Stack, precision: str) -> int:
    """Return bytes per gradient element: 4 if the row mentions fp32 gradients, 2 with fp16, DeepSpeed, NeMo or Bridge.

    Else 4.
    """
    if row_text.mentions(cells, r"fp32 grad"):
        return 4
    recipes = row_text.mentions(cells, _RECIPES)
    return 2 if precision == "fp16" or recipes or stack.family == "deepspeed" else 4
