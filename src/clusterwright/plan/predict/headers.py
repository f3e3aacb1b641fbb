"""Kinds of tables that can be predicted, recognized by their header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, Finding, Location, WrightError, closest_name
from clusterwright.i18n import N_, _
from clusterwright.plan.predict.cells import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMES = ("predicted_iter_time_p10_s", "predicted_iter_time_p90_s")


@dataclass(frozen=True, slots=True)
class Sort:
    """One kind of table, with the columns that it needs, uses and gets."""

    name: str
    signature: tuple[str, ...]  # columns that identify this kind
    needed: tuple[str, ...]
    used: tuple[str, ...]  # optional columns
    added: tuple[str, ...]
    sizes: tuple[str, ...] = ()  # of these, whole numbers above 0 or blank


COLLECTIVES = Sort(
    N_("collectives"),
    signature=("collective",),
    needed=("collective", "gpu_type", "size_bytes"),
    used=("num_nodes", "gpus_per_node", "num_gpus", "algo", "fabric", "nic_per_node", "nic_gbps"),
    added=("predicted_busbw_gbps", "predicted_time_us", "prediction_note"),
    sizes=("size_bytes", "num_nodes", "gpus_per_node", "num_gpus"),
)
CNN = Sort(
    N_("convolutional networks"),
    signature=("benchmark",),
    needed=("benchmark", "gpu_type", "num_gpus"),
    used=("num_nodes", "gpus_per_node", "global_batch", "precision", "framework", "host_networking"),
    added=(
        "predicted_samples_per_s_total",
        "predicted_samples_per_s_per_gpu",
        "predicted_bound",
        "prediction_note",
    ),
    sizes=("num_gpus", "num_nodes", "gpus_per_node", "global_batch"),
)
RUNS = Sort(
    N_("training runs"),
    signature=("gpu_type",),
    needed=("model", "gpu_type", "num_gpus", "seq_len", "global_batch"),
    used=COLUMNS,
    added=(
        "predicted_iter_time_s",
        "predicted_tokens_per_s_per_gpu",
        "predicted_tflops_per_gpu",
        "predicted_mfu",
        "predicted_peak_mem_gib",
        "predicted_fits",
        "predicted_bound",
        *_TIMES,
        "prediction_note",
    ),
)
SORTS = (COLLECTIVES, CNN, RUNS)


def sort_of(columns: Sequence[str], file: str) -> Sort:
    """Return the kind of a table: the first whose signature columns are all present, else a table of runs.

    Raises:
        WrightError: with a finding for each column missing that this kind needs.
    """
    present = set(columns)
    sort = next((sort for sort in SORTS if present.issuperset(sort.signature)), RUNS)
    missing = [name for name in sort.needed if name not in present]
    if missing:
        raise WrightError(
            *(_missing(name, sort, columns, Location(file, 1)) for name in missing), exit_code=EXIT_USAGE
        )
    return sort


def _missing(name: str, sort: Sort, columns: Sequence[str], location: Location) -> Finding:
    spare = [column for column in columns if column not in {*sort.needed, *sort.used}]
    parts = [column for column in spare if column.lower() in name.split("_")]
    suggestion = parts[0] if parts else closest_name(name, spare)
    fix = (
        _(
            "rename the column `{suggestion}` to `{name}` if it has these values",
            suggestion=suggestion,
            name=name,
        )
        if suggestion
        else _("add a column `{name}`; its cells may be blank", name=name)
    )
    return Finding(
        "predict-no-column",
        _("a table of {kind} needs the column `{name}`", kind=_(sort.name), name=name),
        fix,
        (location,),
    )


def doubtful(columns: Sequence[str], sort: Sort) -> list[str]:
    """Return one question for each unused column whose name resembles an optional column that is absent.

    Columns named `measured_...` or `predicted_...` are left out.
    """
    absent = [name for name in sort.used if name not in columns]
    spare = [name for name in columns if name not in {*sort.needed, *sort.used}]
    suggestions = [
        (name, closest_name(name, absent))
        for name in spare
        if not name.startswith(("measured_", "predicted_"))
    ]
    return [
        _("column `{name}` is not used; did you mean `{suggestion}`?", name=name, suggestion=suggestion)
        for name, suggestion in suggestions
        if suggestion
    ]
