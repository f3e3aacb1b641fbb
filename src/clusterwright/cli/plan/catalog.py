"""`wright plan catalog KIND [NAME]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import N_, _

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog


Kind = Literal[
    "gpus",
    "models",
    "networks",
    "cpus",
    "nics",
    "switches",
    "cables",
    "storage",
    "servers",
    "prices",
    "software",
]


def catalog(
    kind: Kind,
    name: str = "",
    /,
    *,
    catalog: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """List the planner's catalog, each row with its source; or show one row in full.

    Parameters
    ----------
    kind
        Table: GPUs, model architectures, convolutional networks, parts, servers, prices or software.
    name
        Show this row in full; any spelling that the planner accepts.
    catalog
        File with your own rows, which come first; default: ./catalog.toml.
    json
        Print one JSON document in base units: bytes, bits or FLOP per second, watts, seconds.
    """
    from clusterwright.catalog.user_catalog_file import load_user_catalog
    from clusterwright.cli._show import show_json, show_table, show_text

    user_catalog = load_user_catalog(catalog)
    if name and kind != "prices":
        row = find_row(kind, name, user_catalog)
        show_json(row) if json else show_text(host_findings(row))
        return 0
    rows = prices_of(name, user_catalog) if name else rows_of(kind, user_catalog)
    show_json(rows) if json else show_table(*listed(kind, rows))
    return 0


Row = dict[str, Any]
# Columns of a list: heading and cell.
Columns = Mapping[str, Callable[[Row], str]]


def _in(key: str, unit: float = 1.0, form: str = ",.6g") -> Callable[[Row], str]:
    """Return a function that formats the field `key` divided by `unit`; empty if the value is 0 or not known."""
    return lambda row: format(row[key] / unit, form) if row[key] else ""


def _as(key: str) -> Callable[[Row], str]:
    return lambda row: ", ".join(row[key]) if isinstance(row[key], list | tuple) else str(row[key])


def _peak(precision: str) -> Callable[[Row], str]:
    return lambda row: f"{row['peak'][precision] / 1e12:,.4g}" if precision in row["peak"] else ""


_BILLION = 1e9
_UNITS = (
    ("_bytes_per_s", "GB/s", 1e9), ("_bits_per_s", "Gbit/s", 1e9), ("_bytes", "GB", 1e9), ("_power_w", "W", 1.0),
    ("_w", "W", 1.0), ("_s", "us", 1e-6), ("_m", "m", 1.0), ("flops", "GFLOP", 1e9),
)  # fmt: skip
_SOURCE = {N_("source"): _as("source")}
_COLUMNS: Mapping[str, Columns] = {
    "gpus": {
        "gpu": _as("name"),
        "bf16 TFLOP/s": _peak("bf16"),
        "fp16": _peak("fp16"),
        "fp8": _peak("fp8"),
        N_("memory GB"): _in("memory_bytes", 1e9),
        "GB/s": _in("memory_bytes_per_s", 1e9),
        N_("link GB/s"): _in("link_bytes_per_s", 1e9),
        "W": _in("power_w"),
        **_SOURCE,
    },
    "models": {
        N_("model"): _as("name"),
        N_("parameters"): _as("parameters"),
        N_("active"): _as("active"),
        N_("layers"): _as("layers"),
        N_("hidden"): _as("hidden"),
        N_("heads"): _as("heads"),
        "ffn": _as("ffn"),
        "vocab": _as("vocab"),
        N_("experts"): _in("experts"),
        **_SOURCE,
    },
    "networks": {
        N_("network"): _as("name"),
        N_("parameters"): lambda row: _billions(row["parameters"]),
        N_("pixels"): _as("image"),
        N_("GFLOP an image"): _in("flops", 1e9, ",.3g"),
        **_SOURCE,
    },
    "cpus": {
        "CPU": _as("name"),
        N_("cores"): _as("cores"),
        N_("threads per core"): _as("threads_per_core"),
        **_SOURCE,
    },
    "nics": {
        "nic": _as("name"),
        N_("protocols"): _as("protocols"),
        N_("ports"): _as("ports"),
        "Gbit/s": _in("port_bits_per_s", 1e9),
        "PCIe": _in("pcie_gen"),
        **_SOURCE,
    },
    "switches": {
        N_("switch"): _as("name"),
        N_("protocol"): _as("protocol"),
        N_("ports"): _as("ports"),
        "Gbit/s": _in("port_bits_per_s", 1e9),
        "ns": _in("latency_s", 1e-9),
        "W": _in("power_w"),
        **_SOURCE,
    },
    "cables": {
        N_("cable"): _as("name"),
        N_("medium"): _as("medium"),
        "Gbit/s": _in("bits_per_s", 1e9),
        N_("reach m"): _in("reach_m"),
        N_("W an end"): _in("end_power_w"),
        **_SOURCE,
    },
    "storage": {
        N_("storage"): _as("name"),
        N_("kind"): _as("kind"),
        "TB": _in("capacity_bytes", 1e12),
        N_("read GB/s"): _in("read_bytes_per_s", 1e9),
        N_("write GB/s"): _in("write_bytes_per_s", 1e9),
        N_("read IOPS"): _in("read_iops", 1.0, ",.12g"),
        "us": _in("latency_s", 1e-6),
        **_SOURCE,
    },
    "servers": {
        N_("server"): _as("name"),
        N_("for"): _as("scenario"),
        "GPUs": lambda row: f"{row['gpus']} x {row['gpu']}",
        "CPUs": lambda row: f"{row['cpus']} x {row['cpu']}",
        N_("cores"): _as("cores"),
        N_("memory GB"): _in("memory_bytes", 1e9),
        "NVMe": lambda row: f"{row['drives']} x {row['drive']}",
        "NICs": lambda row: f"{row['nics']} x {row['nic']}",
        "kW": _in("power_w", 1e3),
        **_SOURCE,
    },
    "prices": {
        N_("item"): _as("item"),
        N_("deal"): _as("deal"),
        N_("per"): _as("per"),
        N_("low"): _in("low"),
        N_("likely"): _in("likely"),
        N_("high"): _in("high"),
        "": _as("currency"),
        N_("date"): _as("date"),
        N_("quality"): _as("quality"),
        **_SOURCE,
    },
    "software": {
        "torch": _as("torch"),
        "Python": lambda row: f"{row['python_min']} - {row['python_max']}",
        "CUDA": _as("cuda"),
        "cuDNN": _as("cudnn"),
        "NCCL": _as("nccl"),
        N_("driver at least"): _as("driver_min"),
        N_("GPUs (sm)"): lambda row: f"{row['sm_min']} - {row['sm_max']}",
        N_("released"): _as("released"),
        **_SOURCE,
    },
}


def listed(kind: str, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of text of a list of the catalog."""
    columns = _COLUMNS[kind]
    return list(columns), [[cell(row) for cell in columns.values()] for row in rows]


def host_findings(row: Row) -> str:
    """Return one item of the catalog in full as text with readable units; empty values are omitted."""
    cells = {key: _format_value(key, value) for key, value in row.items() if value not in (0, -1, "", None)}
    width = max(len(name) for name, _text in cells.values())
    return "\n".join(f"{name:{width}}  {text}" for name, text in cells.values())


def _format_value(key: str, value: Any) -> tuple[str, str]:
    """Return the heading and the text of a catalog value, by the unit at the end of its key."""
    for ending, unit, scale in _UNITS:
        if key.endswith(ending) and isinstance(value, int | float):
            name = key.removesuffix(ending) or key
            return f"{name} rate" if "/" in unit else name, f"{value / scale:,.6g} {unit}"
    if isinstance(value, dict):
        return key, ", ".join(f"{name} {rate / 1e12:,.6g} TFLOP/s" for name, rate in value.items())
    return key, _as(key)({key: value}) if not isinstance(value, bool) else _("yes") if value else _("no")


def rows_of(kind: str, user_catalog: UserCatalog | None) -> list[Row]:
    """Return all rows of a kind of the catalog in base units, the user's own first."""
    return [_row(kind, record) for record in _records(kind, user_catalog)]


def find_row(kind: str, name: str, user_catalog: UserCatalog | None) -> Row:
    """Return one row of the catalog in full, by any spelling of its name.

    Raises:
        WrightError: there is no such row; with the closest name.
    """
    if kind == "software":
        return _row(kind, _release(name))
    return _row(kind, _finders()[kind](name, user_catalog))


def prices_of(name: str, user_catalog: UserCatalog | None) -> list[Row]:
    """Return all prices of one item: a GPU in any spelling, or any other name.

    Raises:
        WrightError: the item has no price; with the closest name.
    """
    from clusterwright.catalog import gpu

    rows = rows_of("prices", user_catalog)
    matches = [row for row in rows if row["item"] == name]
    if matches:
        return matches
    try:
        suggestion = gpu(name, user_catalog).name
    except WrightError:
        suggestion = ""
    if not suggestion or suggestion == name:
        raise _none("prices", name, sorted({row["item"] for row in rows}))
    return prices_of(suggestion, user_catalog)


def _records(kind: str, user_catalog: UserCatalog | None) -> Iterator[Any]:
    from clusterwright import catalog
    from clusterwright.catalog import cnn, parts, prices, software
    from clusterwright.plan.cost import clouds

    tables: dict[str, Callable[[], Mapping[str, Any]]] = {
        "gpus": catalog.gpus, "models": catalog.architectures, "cpus": parts.cpus, "nics": parts.nics,
        "switches": parts.switches, "cables": parts.cables, "storage": parts.storages, "servers": parts.servers,
        "software": software.releases,
    }  # fmt: skip
    if kind == "prices":
        yield from prices.prices(user_catalog)
        yield from clouds.list_prices()
    elif kind == "networks":
        yield from map(cnn.network, cnn.networks())
    else:
        user_records: Mapping[str, Any] = getattr(user_catalog, kind, {})
        yield from user_records.values()
        yield from (record for name, record in tables[kind]().items() if name not in user_records)


def _finders() -> Mapping[str, Callable[[str, UserCatalog | None], Any]]:
    from clusterwright import catalog
    from clusterwright.catalog import cnn, hf, parts

    return {
        "gpus": catalog.gpu,
        "models": hf.model_of,
        "cpus": lambda name, _catalog: parts.cpu(name),
        "nics": parts.nic,
        "switches": parts.switch,
        "cables": parts.cable,
        "storage": parts.storage,
        "servers": parts.server,
        "networks": lambda name, _catalog: cnn.network(name),
    }


def _row(kind: str, record: Any) -> Row:
    if kind == "networks":
        keys = ("name", "image", "parameters", "flops", "source")
        return {key: getattr(record, key) for key in keys} | {"layers": len(record.layers)}
    row = asdict(record)
    if kind == "models":
        from clusterwright.plan.parameters import count

        counted = count(
            replace(record, mtp_layers=0)
        )  # as vendors count: without multi-token prediction layers
        row |= {"parameters": _billions(counted.total)}
        row |= {"active": _billions(counted.active) if record.experts else ""}
    return row


def _billions(number: float) -> str:
    """Return a number of parameters as text with three figures: 7.24B or 340M."""
    unit, letter = (1e9, "B") if number >= _BILLION else (1e6, "M")
    return f"{number / unit:.3g}{letter}"


def _release(name: str) -> Any:
    from clusterwright.catalog import software

    releases = software.releases()
    if name not in releases:
        raise _none("software", name, list(releases))
    return releases[name]


def _none(kind: str, name: str, names: list[str]) -> WrightError:
    fix = unknown_name_fix(name, names, _("run wright plan catalog {table} for all names", table=kind))
    return WrightError.from_code(
        "unknown-part",
        _("the table {table} has no row `{name}`", table=kind, name=name),
        fix,
        exit_code=EXIT_USAGE,
    )
