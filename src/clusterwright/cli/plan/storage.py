"""`wright plan storage`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from cyclopts import Parameter

from clusterwright.cli._live_names import GPUS, MODELS
from clusterwright.cli._numbers import Count, Fraction, Positive, PositiveOrZero
from clusterwright.cli._quantities import BigCount, Duration, Rate, Size
from clusterwright.cli._show import show_heading, show_message, show_table, show_text
from clusterwright.errors import EXIT_USAGE, Finding, WrightError
from clusterwright.i18n import N_, _, _n
from clusterwright.units import (
    QuantityError,
    human_byte_rate,
    human_duration,
    human_number,
    human_size,
    parse_duration,
    parse_rate,
    parse_size,
)

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.storage import Array, Demand, Option, Staging, Workload


@dataclass(frozen=True, kw_only=True)
class Data:
    """The dataset to read."""

    dataset: Annotated[Size, Parameter(help="Size of the dataset, such as 2TB.")]
    samples: Annotated[
        BigCount | None, Parameter(help="Sequences or images, such as 1.2M; default: as many as files.")
    ] = None
    files: Annotated[
        BigCount | None, Parameter(help="Number of files, such as 1.2M; default: one per sample.")
    ] = None
    samples_per_s: Annotated[
        PositiveOrZero | None,
        Parameter(help="Samples per second of all GPUs; default: the limit of their peak FLOP/s."),
    ] = None
    epochs: Annotated[Positive, Parameter(help="How many times the dataset is read.")] = 1.0


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions:
    """The checkpoints to write."""

    model: Annotated[
        str | None,
        Parameter(help="Model, as in `wright plan catalog models`, or path of a Hugging Face config.json."),
        MODELS,
    ] = None
    params: Annotated[
        BigCount | None, Parameter(help="Number of parameters instead of a model, such as 25.6M.")
    ] = None
    precision: Annotated[
        Literal["fp32", "fp16", "bf16", "fp8"], Parameter(help="Precision of the weights.")
    ] = "bf16"
    optimizer: Annotated[Literal["adam", "adam8bit", "sgd", "none"], Parameter(help="Optimizer.")] = "adam"
    every: Annotated[Duration, Parameter(help="Checkpoint interval, such as 30m.")] = "30m"
    stall: Annotated[
        Fraction, Parameter(help="Share of the interval that a checkpoint may stall the GPUs.")
    ] = 0.05
    save_total_limit: Annotated[Count, Parameter(help="Number of retained checkpoints.")] = 3


@dataclass(frozen=True, kw_only=True)
class On:
    """The machines."""

    gpu: Annotated[str, Parameter(help="GPU, as in `wright plan catalog gpus`."), GPUS] = "h100-sxm-80gb"
    gpus: Annotated[Count, Parameter(help="Number of GPUs.")] = 8
    gpus_per_node: Annotated[Count, Parameter(help="GPUs per node.")] = 8
    disks: Annotated[Count, Parameter(help="NVMe disks per node.")] = 4
    catalog: Annotated[Path | None, Parameter(help="File with your own GPUs and models.")] = None
    server_nic: Annotated[Rate, Parameter(help="Network rate of a storage server.")] = "100Gbit/s"


def storage(
    *,
    data: Annotated[Data, Parameter(name="*")],
    checkpoint_options: Annotated[CheckpointOptions, Parameter(name="*")] = CheckpointOptions(),
    on: Annotated[On, Parameter(name="*")] = On(),
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Size the storage for a dataset and its checkpoints, and show which kinds are fast enough.

    Parameters
    ----------
    json
        Print one JSON document, in bytes and bytes/s.
    """
    from clusterwright.cli._show import show_json

    report = find(data, checkpoint_options, on)
    if json:
        show_json(document(report))
    else:
        show(report)
    return 0


Value = TypeVar("Value")

_COUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([kMBT]?)")
_FACTOR = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_TOKENS = 4096  # per sample of a text model; printed with the answer
_SMALL_VOCABULARY = 2**16  # Megatron's token files use 2 bytes per token up to here, else 4
_SERVER_DISKS = 12  # per storage server, for the RAID levels


@dataclass(frozen=True, slots=True)
class StorageReport:
    """Everything that the command prints."""

    work: Workload
    need: Demand
    nodes: int
    options: tuple[Option, ...]
    staging: dict[str, Staging]
    arrays: dict[str, Array]
    notes: tuple[str, ...]


def find(data: Data, checkpoint_options: CheckpointOptions, on: On) -> StorageReport:
    """Return the report on storage for the dataset and the checkpoints: demand, options, staging and notes.

    Raises:
        WrightError: a number or size is invalid, or the read rate is not known.
    """
    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.plan.storage import Workload, best_level, demand, object_options, options, staging

    numbers = {"--gpus": on.gpus, "--gpus-per-node": on.gpus_per_node, "--epochs": data.epochs}
    size = _checked_size(data.dataset, _not_positive(numbers))
    user_catalog = load_user_catalog(on.catalog)
    model = _model(checkpoint_options, user_catalog)
    files, notes = count(data.files, "--files") if data.files else 0.0, []
    samples = count(data.samples, "--samples") if data.samples else files
    if model is not None and not data.samples:
        token = 2 if model.vocab <= _SMALL_VOCABULARY else 4
        samples = size / (_TOKENS * token)
        notes.append(_("samples: sequences of {tokens} tokens of {bytes} bytes", tokens=_TOKENS, bytes=token))
    rate = data.samples_per_s
    if rate is None:
        rate, note = _fastest(model, on, user_catalog)
        notes.append(note)
    work = Workload(
        parameters=_parameters(checkpoint_options, model), dataset_bytes=size, samples=samples, samples_per_s=rate,
        files=files, precision=checkpoint_options.precision, optimizer=checkpoint_options.optimizer,
        stall_share=checkpoint_options.stall, save_total_limit=checkpoint_options.save_total_limit,
        checkpoint_every_s=_read(parse_duration, checkpoint_options.every, "--every"),
    )  # fmt: skip
    need, nodes = demand(work), max(1, math.ceil(on.gpus / on.gpus_per_node))
    nic = _read(parse_rate, on.server_nic, "--server-nic")
    storage_options = (*options(need, nodes, nic, on.disks), *object_options(need, nodes, nic))
    staged = {
        option.name: staging(need, option, nodes, data.epochs, on.disks)
        for option in storage_options
        if option.servers
    }
    arrays = {use: best_level(use, _SERVER_DISKS) for use in (N_("metadata"), N_("scratch"), N_("capacity"))}
    return StorageReport(work, need, nodes, storage_options, staged, arrays, tuple(notes))


def count(text: str, option: str) -> float:
    """Return the number that an option has as text, such as 1.2M.

    Raises:
        WrightError: bad-quantity, with the option's name.
    """
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        message, fix = (
            _("{option}: `{text}` is not a number", option=option, text=text[:60]),
            _("write the number as 1200000 or 1.2M"),
        )
        raise WrightError.from_code("bad-quantity", message, fix, exit_code=EXIT_USAGE)
    return float(match[1]) * _FACTOR[match[2]]


def _read(parse: Callable[[str], Value], text: str, option: str) -> Value:
    try:
        return parse(text)
    except QuantityError as error:
        message = f"{option}: {error.message}"
        raise WrightError.from_code("bad-quantity", message, error.fix, exit_code=EXIT_USAGE) from error


def _model(checkpoint_options: CheckpointOptions, user_catalog: UserCatalog | None) -> Architecture | None:
    if checkpoint_options.model is None:
        return None
    from clusterwright.catalog.hf import model_of

    return model_of(checkpoint_options.model, user_catalog)


def _checked_size(dataset: str, findings: list[Finding]) -> float:
    """Return the bytes of the dataset; raise WrightError for `findings` and an error of the size."""
    try:
        size = _read(parse_size, dataset, "--dataset")
    except WrightError as error:
        raise WrightError(*findings, *error.findings, exit_code=EXIT_USAGE) from error
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)
    return size


def _not_positive(numbers: Mapping[str, float]) -> list[Finding]:
    return [
        Finding(
            "storage-size",
            _(
                "{option} is {value}, but must be more than {limit}",
                option=option,
                value=f"{value:g}",
                limit=0,
            ),
            _("write {option} {limit}", option=option, limit=1),
        )
        for option, value in numbers.items()
        if not value > 0
    ]


def _parameters(checkpoint_options: CheckpointOptions, model: Architecture | None) -> float:
    from clusterwright.plan import parameters

    if checkpoint_options.params:
        return count(checkpoint_options.params, "--params")
    if model is None:
        fix = _("pass --model llama2-7b or --params 25.6M")
        raise WrightError.from_code(
            "storage-size",
            _("neither a model nor its number of parameters is given"),
            fix,
            exit_code=EXIT_USAGE,
        )
    return parameters.count(model).total


def _fastest(model: Architecture | None, on: On, user_catalog: UserCatalog | None) -> tuple[float, str]:
    """Return the samples per second that the GPUs could read at their peak, an upper bound, and a note on it.

    Raises:
        WrightError: `storage-size`: there is no model to compute it from.
    """
    if model is None:
        fix = _("pass --samples-per-s, or a --model to compute it from the GPUs")
        raise WrightError.from_code(
            "storage-size", _("the read rate is not known"), fix, exit_code=EXIT_USAGE
        )
    from clusterwright import catalog
    from clusterwright.plan import flops

    gpu = catalog.gpu(on.gpu, user_catalog)
    peak = gpu.peak.get("bf16") or max(gpu.peak.values())
    rate = on.gpus * peak / (flops.training(model, _TOKENS) * _TOKENS)
    return rate, _(
        "{rate} samples/s: the limit of {gpus} x {gpu} at their peak FLOP/s",
        rate=human_number(rate),
        gpus=on.gpus,
        gpu=gpu.name,
    )


def document(report: StorageReport) -> dict[str, Any]:
    """Return the document of --json for a report on storage."""
    return {
        "demand": report.need,
        "options": report.options,
        "staging": report.staging,
        "raid": report.arrays,
        "notes": report.notes,
    }


def show(report: StorageReport) -> None:
    """Print the tables of a report on storage on stdout and its assumptions on stderr."""
    need = report.need
    capacity, checkpoint = human_size(need.capacity_bytes), human_size(need.checkpoint_bytes)
    read, write = human_byte_rate(need.read_bytes_per_s), human_byte_rate(need.write_bytes_per_s)
    show_table(
        ("required", ""),
        [
            (_("capacity"), _("{size}, of which a fifth stays free", size=capacity)),
            (_("checkpoint"), checkpoint),
            (_("read"), _("{rate} in reads of {size}", rate=read, size=human_size(need.read_bytes))),
            (_("write"), _("{rate} during a checkpoint", rate=write)),
            (_("open"), _("{rate} files/s", rate=human_number(need.opens_per_s))),
        ],
    )
    show_text("")
    rows = [_option_row(option, report.staging.get(option.name)) for option in report.options]
    show_table(
        ("storage", "sufficient", "servers", "read", "write", "reason", "stage to the nodes first"), rows
    )
    show_heading(_("RAID of {disks} disks", disks=_SERVER_DISKS))
    show_table(
        ("use", "level", "usable", "tolerates", "small writes", "rebuild"),
        [_array_row(use, array) for use, array in report.arrays.items()],
    )
    for note in report.notes:
        show_message(note)


def _option_row(option: Option, staged: Staging | None) -> tuple[str, ...]:
    return (
        option.name,
        _("yes") if option.enough else _("no"),
        str(option.servers or ""),
        human_byte_rate(option.read_bytes_per_s),
        human_byte_rate(option.write_bytes_per_s),
        option.reason,
        "" if staged is None else f"{_('yes') if staged.pays else _('no')}: {staged.reason}",
    )


def _array_row(use: str, array: Array) -> tuple[str, ...]:
    rebuild = human_duration(array.rebuild_s) if array.rebuild_s else "-"
    writes = f"{human_number(array.write_iops)} IOPS"
    disks = _n("{count} failed disk", "{count} failed disks", array.survives)
    return _(use), f"RAID {array.level}", human_size(array.usable_bytes), disks, writes, rebuild
