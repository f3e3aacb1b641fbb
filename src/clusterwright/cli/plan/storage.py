"""`wright plan storage`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from cyclopts import Parameter

from clusterwright.cli._show import show_message, show_table, show_text
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.units import QuantityError, parse_duration, parse_rate, parse_size

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.storage import Array, Demand, Option, Staging, Workload


@dataclass(frozen=True, kw_only=True)
class Data:
    """What is read."""

    dataset: Annotated[str, Parameter(help="Its size: 2TB.")]
    samples: Annotated[str | None, Parameter(help="Sequences or images in it: 1.2M; as many as files.")] = (
        None
    )
    files: Annotated[str | None, Parameter(help="Files it lies in: 1.2M; one a sample if left out.")] = None
    samples_per_s: Annotated[
        float | None, Parameter(help="Read while training, by all GPUs; what their peak allows if left out.")
    ] = None
    epochs: Annotated[float, Parameter(help="How often it is read.")] = 1.0


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions:
    """What is written."""

    model: Annotated[str | None, Parameter(help="A model of the catalog, or a config.json.")] = None
    params: Annotated[str | None, Parameter(help="Parameters, in place of a model: 25.6M.")] = None
    precision: Annotated[Literal["fp32", "fp16", "bf16", "fp8"], Parameter(help="Of the weights.")] = "bf16"
    optimizer: Annotated[Literal["adam", "adam8bit", "sgd", "none"], Parameter(help="The optimiser.")] = (
        "adam"
    )
    every: Annotated[str, Parameter(help="Between two checkpoints: 30m.")] = "30m"
    stall: Annotated[float, Parameter(help="Share of that time that a checkpoint may hold the GPUs up.")] = (
        0.05
    )
    save_total_limit: Annotated[int, Parameter(help="Checkpoints on storage at a time.")] = 3


@dataclass(frozen=True, kw_only=True)
class On:
    """The machines."""

    gpu: Annotated[str, Parameter(help="A GPU of the catalog.")] = "h100-sxm-80gb"
    gpus: Annotated[int, Parameter(help="How many.")] = 8
    gpus_per_node: Annotated[int, Parameter(help="Of one node.")] = 8
    disks: Annotated[int, Parameter(help="NVMe disks of a node.")] = 4
    catalog: Annotated[Path | None, Parameter(help="GPUs and models of your own.")] = None
    server_nic: Annotated[str, Parameter(help="Network of one storage server.")] = "100Gbit/s"


def storage(
    *,
    data: Annotated[Data, Parameter(name="*")],
    checkpoint_options: Annotated[CheckpointOptions, Parameter(name="*")] = CheckpointOptions(),
    on: Annotated[On, Parameter(name="*")] = On(),
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Size storage for a dataset and its checkpoints, and say which kind is enough.

    Parameters
    ----------
    json
        Everything in bytes and bytes/s, as one JSON document.
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
_TOKENS = 4096  # of one sample, where a model reads text; stated beside the answer
_SMALL_VOCABULARY = 2**16  # up to here Megatron's token files hold a token in 2 bytes, beyond in 4
_SERVER_DISKS = 12  # of one storage server, for the RAID levels


@dataclass(frozen=True, slots=True)
class StorageReport:
    """All that is printed."""

    work: Workload
    need: Demand
    nodes: int
    options: tuple[Option, ...]
    staging: dict[str, Staging]
    arrays: dict[str, Array]
    notes: tuple[str, ...]


def find(data: Data, checkpoint_options: CheckpointOptions, on: On) -> StorageReport:
    """Everything, from what was asked."""
    from clusterwright.cli.plan._inputs import load_user_catalog
    from clusterwright.plan.storage import Workload, best_level, demand, options, staging

    if min(on.gpus, on.gpus_per_node) < 1 or data.epochs <= 0:
        message = _(
            "{gpus} GPUs, {gpus_per_node} a node, read {epochs:g} times",
            gpus=on.gpus,
            gpus_per_node=on.gpus_per_node,
            epochs=data.epochs,
        )
        raise WrightError.from_code(
            "storage-size", message, _("give 1 or more of each"), exit_code=EXIT_USAGE
        )
    user_catalog = load_user_catalog(on.catalog)
    model = _model(checkpoint_options, user_catalog)
    size = _read(parse_size, data.dataset, "--dataset")
    files, notes = count(data.files, "--files") if data.files else 0.0, []
    samples = count(data.samples, "--samples") if data.samples else files
    if model is not None and not data.samples:
        token = 2 if model.vocab <= _SMALL_VOCABULARY else 4
        samples = size / (_TOKENS * token)
        notes.append(f"samples: sequences of {_TOKENS} tokens of {token} bytes")
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
    storage_options = options(need, nodes, _read(parse_rate, on.server_nic, "--server-nic"), on.disks)
    staged = {
        option.name: staging(need, option, nodes, data.epochs, on.disks)
        for option in storage_options
        if option.servers
    }
    arrays = {use: best_level(use, _SERVER_DISKS) for use in ("metadata", "scratch", "capacity")}
    return StorageReport(work, need, nodes, storage_options, staged, arrays, tuple(notes))


def count(text: str, option: str) -> float:
    """A number such as 1.2M.

    Raises:
        WrightError: bad-quantity.
    """
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        message, fix = f"{option}: `{text[:60]}` is not a number", "write it as 1200000 or 1.2M"
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


def _parameters(checkpoint_options: CheckpointOptions, model: Architecture | None) -> float:
    from clusterwright.plan import parameters

    if checkpoint_options.params:
        return count(checkpoint_options.params, "--params")
    if model is None:
        fix = "give --model llama2-7b, or --params 25.6M"
        raise WrightError.from_code("storage-size", _("no model is given"), fix, exit_code=EXIT_USAGE)
    return parameters.count(model).total


def _fastest(model: Architecture | None, on: On, user_catalog: UserCatalog | None) -> tuple[float, str]:
    """Samples a second that the GPUs could read at their peak: no training reads more."""
    if model is None:
        fix = "give --samples-per-s, or a --model whose rate follows from the GPUs"
        raise WrightError.from_code(
            "storage-size", _("how fast samples are read is not said"), fix, exit_code=EXIT_USAGE
        )
    from clusterwright import catalog
    from clusterwright.plan import flops

    gpu = catalog.gpu(on.gpu, user_catalog)
    peak = gpu.peak.get("bf16") or max(gpu.peak.values())
    rate = on.gpus * peak / (flops.training(model, _TOKENS) * _TOKENS)
    return rate, f"{rate:.3g} samples/s: what {on.gpus} x {gpu.name} could read at their peak"


def document(report: StorageReport) -> dict[str, Any]:
    """For --json."""
    return {
        "demand": report.need,
        "options": report.options,
        "staging": report.staging,
        "raid": report.arrays,
        "notes": report.notes,
    }


def show(report: StorageReport) -> None:
    """Tables on stdout; what was assumed on stderr."""
    need = report.need
    show_table(
        ("wanted", ""),
        [
            ("capacity", f"{need.capacity_bytes / 1e12:.3g} TB, a fifth of it free"),
            ("checkpoint", f"{need.checkpoint_bytes / 1e9:.4g} GB"),
            ("read", f"{need.read_bytes_per_s / 1e9:.3g} GB/s in pieces of {_small(need.read_bytes)}"),
            ("write", f"{need.write_bytes_per_s / 1e9:.3g} GB/s while a checkpoint is written"),
            ("opened", f"{need.opens_per_s:,.0f} files/s"),
        ],
    )
    show_text("")
    rows = [_option_row(option, report.staging.get(option.name)) for option in report.options]
    show_table(("storage", "enough", "servers", "read", "write", "why", "copy to the nodes first?"), rows)
    show_text(_("\nRAID of {server_disks} disks:", server_disks=_SERVER_DISKS))
    show_table(
        ("use", "level", "usable", "fails safely", "small writes", "rebuild"),
        [_array_row(use, array) for use, array in report.arrays.items()],
    )
    for note in report.notes:
        show_message(note)


def _option_row(option: Option, staged: Staging | None) -> tuple[str, ...]:
    return (
        option.name,
        "yes" if option.enough else "no",
        str(option.servers or ""),
        f"{option.read_bytes_per_s / 1e9:.3g} GB/s",
        f"{option.write_bytes_per_s / 1e9:.3g} GB/s",
        option.reason,
        "" if staged is None else f"{'yes' if staged.pays else 'no'}: {staged.reason}",
    )


def _array_row(use: str, array: Array) -> tuple[str, ...]:
    rebuild = f"{array.rebuild_s / 60:.0f} min" if array.rebuild_s else "-"
    writes = f"{array.write_iops / 1e3:,.0f} k/s"
    disks = f"{array.survives} disk{'s' * (array.survives != 1)}"
    return use, f"RAID {array.level}", f"{array.usable_bytes / 1e12:.3g} TB", disks, writes, rebuild


def _small(size: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.3g} B"
