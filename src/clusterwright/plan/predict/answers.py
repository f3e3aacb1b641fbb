"""Prediction of one row, as cells of the added columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.catalog import fitted
from clusterwright.errors import Finding, WrightError
from clusterwright.i18n import N_, _
from clusterwright.plan import memory, speed
from clusterwright.plan.assumptions import describe_assumptions
from clusterwright.plan.predict import headers
from clusterwright.plan.predict.cells import Cells
from clusterwright.plan.predict.infer_memory_notes import definition
from clusterwright.plan.predict.runs import run_with_peak
from clusterwright.plan.speed.coefficients import generation
from clusterwright.plan.speed.coefficients import peak as peak_rate
from clusterwright.plan.speed.span import kind

if TYPE_CHECKING:
    from clusterwright.plan.predict.lookup import CatalogLookup
    from clusterwright.plan.prediction import Memory
    from clusterwright.plan.run import Run

_MEANINGS = {
    memory.Definition.ALLOCATED: N_("peak memory: allocated, maximum over GPUs"),
    memory.Definition.LAST_RANK: N_("peak memory: allocated, last rank"),
    memory.Definition.RESERVED: N_("peak memory: reserved by the allocator"),
    memory.Definition.TOTAL: N_("peak memory as nvidia-smi shows it"),
}
_GIB = 2**30
_DIGITS = 6  # significant digits of a predicted number


@dataclass(frozen=True, slots=True)
class PredictedAnswer:
    """The added cells by column, and the problems that prevented a prediction."""

    cells: dict[str, str]
    problems: tuple[Finding, ...] = ()


def answer(
    row: dict[str, str], sort: headers.Sort, lookup: CatalogLookup, remark: str = ""
) -> PredictedAnswer:
    """Predict a row; if that is impossible, return a refusal whose note lists every problem of the row; never raise.

    `remark` comes first in the note of a prediction; a refusal does not have it. A result that is not finite is
    refused.
    """
    try:
        _check_sizes(row, sort)
        cells = _PREDICTORS[sort.name](row, lookup)
    except WrightError as error:
        return refused(*error.findings)
    except ArithmeticError as error:
        return refused(_no_result(str(error)))
    if any(cells[name] in {"nan", "inf", "-inf"} for name in sort.added):
        return refused(_no_result(_("not a finite number")))
    cells["prediction_note"] = "; ".join(part for part in (remark, cells["prediction_note"]) if part)
    return PredictedAnswer(cells)


def _check_sizes(row: dict[str, str], sort: headers.Sort) -> None:
    """Raise `WrightError` for cells that must be whole numbers and are not; training runs check their own."""
    cells = Cells(row)
    for name in sort.sizes:
        if row.get(name, "").strip():
            cells.integer(name)
    if cells.problems:
        raise WrightError(*cells.problems)


def _no_result(reason: str) -> Finding:
    message = _("the formulas give no number: {reason}", reason=reason)
    return Finding("predict-no-result", message, _("correct sizes of the row that are impossible"))


def refused(*problems: Finding) -> PredictedAnswer:
    """Return an answer without prediction, whose note lists every problem."""
    note = " | ".join(
        f"error[{finding.code}]: {finding.message}; {_('fix')}: {finding.fix}" for finding in problems
    )
    return PredictedAnswer({"prediction_note": note}, problems)


def of_run(row: dict[str, str], lookup: CatalogLookup) -> dict[str, str]:
    """Return the added cells of a training run: seconds per iteration with range, tokens/s and TFLOP/s per GPU, MFU.

    Also peak memory in GiB, whether it fits, what limits the speed, and a note. FLOPs are model FLOPs (forward and
    twice that backward, causal attention, head; no recomputation); the MFU relates to the dense peak of the run's
    precision.

    Raises:
        WrightError: with all problems of the row.
    """
    run, peak, notes = run_with_peak(row, lookup)
    time = speed.iteration(run)
    low, high = speed.span(run, time)
    gpus, total = run.machine.gpus, float(time.total)
    mfu = float(time.ideal) / total
    tokens = run.training.global_batch * run.training.seq_len
    meaning = definition(Cells.from_row(row))
    memory_fit = memory.classify_fit(peak, run.machine.gpu)
    doubts = _outside(run)
    if memory_fit is memory.MemoryFit.TIGHT:
        doubts = (_("memory is tight"), *doubts)
    return {
        "predicted_iter_time_s": number(total),
        "predicted_tokens_per_s_per_gpu": number(tokens / total / gpus),
        "predicted_tflops_per_gpu": number(mfu * peak_rate(run.machine.gpu, run.training.precision) / 1e12),
        "predicted_mfu": number(mfu),
        "predicted_peak_mem_gib": number(_reported(run, peak, meaning) / _GIB),
        "predicted_fits": str(memory.classify_fit(peak, run.machine.gpu) is not memory.MemoryFit.OOM).lower(),
        "predicted_bound": str(speed.bound(time)),
        "predicted_iter_time_p10_s": number(float(low)),
        "predicted_iter_time_p90_s": number(float(high)),
        "prediction_note": "; ".join((*notes, describe_assumptions(run), *doubts, _(_MEANINGS[meaning]))),
    }


def _outside(run: Run) -> tuple[str, ...]:
    """Return a warning, as the only item, if no run of this kind on this GPU generation was fitted, else ()."""
    plan, chip = kind(run), generation(run.machine.gpu)
    if f"{chip}.{plan}" in fitted.coefficients("speed")["span"]:
        return ()
    text = _(
        "too few runs of this kind ({kind}) on {gpu} were fitted: the range is that of other GPUs",
        kind=plan,
        gpu=chip,
    )
    return (text,)


def _reported(run: Run, peak: Memory, meaning: memory.Definition) -> float:
    """Return peak memory in bytes by the definition of the row's source.

    `LAST_RANK` predicts it anew from the run; all others derive it from `peak`.
    """
    if meaning is memory.Definition.LAST_RANK:
        return float(memory.reported(run, meaning))
    if meaning is memory.Definition.ALLOCATED:
        return float(peak.allocated)
    return float(peak.total - (peak.context if meaning is memory.Definition.RESERVED else 0.0))


def of_collective(row: dict[str, str], _lookup: CatalogLookup) -> dict[str, str]:
    """Predict a collective operation: bus bandwidth in GB/s as nccl-tests prints it, and time."""
    from clusterwright.plan.collectives import rows
    from clusterwright.plan.collectives.coefficients import stored
    from clusterwright.plan.collectives.kinds import bus_factor

    spec = rows.read(row)
    bus = rows.bus_bw(spec, stored())
    seconds = spec.size_bytes * float(bus_factor(spec.kind, spec.group.ranks)) / bus
    return {
        "predicted_busbw_gbps": number(bus / 1e9),
        "predicted_time_us": number(seconds * 1e6),
        "prediction_note": "; ".join(spec.notes),
    }


def of_cnn(row: dict[str, str], _lookup: CatalogLookup) -> dict[str, str]:
    """Predict the samples per second of all GPUs and of one, for a row of a convolutional network or BERT.

    Without `num_gpus`, one GPU.

    Raises:
        WrightError: predict-unknown-model.
    """
    from clusterwright.plan.cnn import rows

    total, note, bound = rows.samples_of_row(row)
    if total is None:
        raise WrightError.from_code(
            "predict-unknown-model", note, _("use torchvision's name, such as ResNet-50")
        )
    return {
        "predicted_samples_per_s_total": number(total),
        "predicted_samples_per_s_per_gpu": number(total / float(row["num_gpus"] or 1)),
        "predicted_bound": str(bound),
        "prediction_note": note,
    }


_PREDICTORS = {headers.RUNS.name: of_run, headers.COLLECTIVES.name: of_collective, headers.CNN.name: of_cnn}


def number(value: float) -> str:
    """Format a predicted number with six significant digits."""
    return f"{value:.{_DIGITS}g}"
