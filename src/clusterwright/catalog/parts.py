"""The parts of a cluster besides GPUs: NICs, switches, cables, storage and whole servers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from clusterwright.catalog.records import Cable, Cpu, Nic, Server, Storage, Switch
from clusterwright.catalog.rows import number, rows
from clusterwright.catalog.user_catalog import named, slug
from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean
from clusterwright.i18n import N_, _

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog

Part = TypeVar("Part")


@cache
def cpus() -> Mapping[str, Cpu]:
    """Return all CPUs of the built-in catalog by name."""
    return {
        row["name"]: Cpu(row["name"], int(row["cores"]), int(row["threads_per_core"]), row["source"])
        for row in rows("cpus")
    }


@cache
def nics() -> Mapping[str, Nic]:
    """Return all NICs of the built-in catalog by name."""
    return {
        row["name"]: Nic(
            row["name"],
            tuple(row["protocols"].split("|")),
            int(row["ports"]),
            number(row, "port_gbit_per_s", 1e9),
            int(number(row, "pcie_gen")),
            number(row, "power_w"),
            row["vendor"],
            row["source"],
        )
        for row in rows("nics")
    }


@cache
def switches() -> Mapping[str, Switch]:
    """Return all switches of the built-in catalog by name."""
    return {
        row["name"]: Switch(
            row["name"],
            row["protocol"],
            int(row["ports"]),
            number(row, "port_gbit_per_s", 1e9),
            number(row, "latency_ns", 1e-9),
            number(row, "power_w"),
            row["vendor"],
            row["source"],
        )
        for row in rows("switches")
    }


@cache
def cables() -> Mapping[str, Cable]:
    """Return all classes of cables of the built-in catalog by name."""
    return {
        row["name"]: Cable(
            row["name"],
            row["medium"],
            number(row, "gbit_per_s", 1e9),
            number(row, "reach_m"),
            number(row, "end_power_w"),
            row["source"],
        )
        for row in rows("cables")
    }


@cache
def storages() -> Mapping[str, Storage]:
    """Return all drives and storage servers of the built-in catalog by name."""
    return {
        row["name"]: Storage(
            row["name"],
            row["kind"],
            number(row, "read_mbyte_per_s", 1e6),
            number(row, "write_mbyte_per_s", 1e6),
            number(row, "read_kiops", 1e3),
            number(row, "latency_us", 1e-6),
            number(row, "capacity_tb", 1e12),
            number(row, "power_w"),
            row["source"],
        )
        for row in rows("storage")
    }


@cache
def servers() -> Mapping[str, Server]:
    """Return all servers of the built-in catalog by name."""
    return {row["name"]: _server(row) for row in rows("servers")}


def _server(row: dict[str, str]) -> Server:
    int_columns = ("gpus", "cpus", "cores", "drives", "nics", "height_u")
    values: dict[str, Any] = {
        column: row[column] for column in ("name", "scenario", "gpu", "cpu", "drive", "nic", "source")
    }
    values |= {column: int(number(row, column)) for column in int_columns}
    return Server(**values, memory_bytes=number(row, "memory_gb", 1e9), power_w=number(row, "power_w"))


def cpu(name: str) -> Cpu:
    """Return the CPU of that name. Raises WrightError `unknown-part`."""
    return _find_part(N_("CPU"), "cpus", name, cpus(), {})


def nic(name: str, extra: UserCatalog | None = None) -> Nic:
    """Return the NIC of that name; the user's catalog first. Raises WrightError `unknown-part`."""
    return _find_part(N_("NIC"), "nics", name, nics(), extra.nics if extra else {})


def switch(name: str, extra: UserCatalog | None = None) -> Switch:
    """Return the switch of that name; the user's catalog first. Raises WrightError `unknown-part`."""
    return _find_part(N_("switch"), "switches", name, switches(), extra.switches if extra else {})


def cable(name: str, extra: UserCatalog | None = None) -> Cable:
    """Return the class of cable of that name; the user's catalog first. Raises WrightError `unknown-part`."""
    return _find_part(N_("cable"), "cables", name, cables(), extra.cables if extra else {})


def storage(name: str, extra: UserCatalog | None = None) -> Storage:
    """Return the drive or storage server of that name; the user's catalog first. Raises WrightError `unknown-part`."""
    return _find_part(
        N_("drive or storage server"), "storage", name, storages(), extra.storage if extra else {}
    )


def server(name: str, extra: UserCatalog | None = None) -> Server:
    """Return the server of that name; the user's catalog first. Raises WrightError `unknown-part`."""
    return _find_part(N_("server"), "servers", name, servers(), extra.servers if extra else {})


def _find_part(
    part_kind: str, table: str, name: str, ours: Mapping[str, Part], user_parts: Mapping[str, Part]
) -> Part:
    part = named(user_parts, name) or named(ours, name)
    if part is not None:
        return part
    fix = _(
        "{suggestion}`wright plan catalog {table}` lists all; your own hardware: docs/guides/own-hardware.md",
        suggestion=did_you_mean(slug(name), [*user_parts, *ours], 0.5),
        table=table,
    )
    raise WrightError.from_code(
        "unknown-part",
        _("`{name}` is not a known {part_kind}", part_kind=_(part_kind), name=name),
        fix,
        exit_code=EXIT_USAGE,
    )
