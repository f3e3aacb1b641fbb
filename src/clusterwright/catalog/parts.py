"""What a cluster is bought from besides GPUs: NICs, switches, cables, storage and whole servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from clusterwright.catalog.own import named, slug
from clusterwright.catalog.rows import number, rows
from clusterwright.errors import EXIT_USAGE, WrightError

if TYPE_CHECKING:
    from clusterwright.catalog.own import Own

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Nic:
    """One network card."""

    name: str
    protocols: tuple[str, ...]  # infiniband, ethernet (RoCE too), omnipath
    ports: int
    port_bits_per_s: float
    pcie_gen: int = 0
    power_w: float = 0.0  # 0: not known
    vendor: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """One model of switch."""

    name: str
    protocol: str  # infiniband, ethernet
    ports: int
    port_bits_per_s: float
    latency_s: float = 0.0  # port to port; 0: not known
    power_w: float = 0.0  # typical, without optics; 0: not known
    vendor: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Cable:
    """A class of cable for one rate: copper (DAC), active optical (AOC), or two transceivers and a fibre (SR, DR)."""

    name: str
    medium: str
    bits_per_s: float
    reach_m: float
    end_power_w: float = 0.0  # drawn at each end
    source: str = ""


@dataclass(frozen=True, slots=True)
class Storage:
    """A drive, or one server of a storage system."""

    name: str
    kind: str  # drive, system
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float = 0.0  # of 4 KiB, random
    latency_s: float = 0.0
    capacity_bytes: float = 0.0  # 0: as many drives as one puts in
    power_w: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """A whole node, or a rack where GPUs come by the rack; parts by their names in the catalog."""

    name: str
    scenario: str  # training, science, inference
    gpu: str
    gpus: int
    cpu: str
    cpus: int
    cores: int  # of all CPUs
    memory_bytes: float
    drives: int
    drive: str
    nic: str  # of the compute network
    nics: int
    power_w: float  # under load
    height_u: int = 0
    source: str = ""


@cache
def nics() -> Mapping[str, Nic]:
    """All NICs, by name."""
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
    """All switches, by name."""
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
    """All classes of cables, by name."""
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
    """All drives and storage servers, by name."""
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
    """All servers, by name."""
    return {row["name"]: _server(row) for row in rows("servers")}


def _server(row: dict[str, str]) -> Server:
    whole = ("gpus", "cpus", "cores", "drives", "nics", "height_u")
    values: dict[str, Any] = {
        column: row[column] for column in ("name", "scenario", "gpu", "cpu", "drive", "nic", "source")
    }
    values |= {column: int(number(row, column)) for column in whole}
    return Server(**values, memory_bytes=number(row, "memory_gb", 1e9), power_w=number(row, "power_w"))


def nic(name: str, extra: Own | None = None) -> Nic:
    """The NIC of that name; the user's own first. Raises WrightError `unknown-part`."""
    return _one("NIC", "nics", name, nics(), extra.nics if extra else {})


def switch(name: str, extra: Own | None = None) -> Switch:
    """The switch of that name; the user's own first. Raises WrightError `unknown-part`."""
    return _one("switch", "switches", name, switches(), extra.switches if extra else {})


def cable(name: str, extra: Own | None = None) -> Cable:
    """The class of cable of that name; the user's own first. Raises WrightError `unknown-part`."""
    return _one("cable", "cables", name, cables(), extra.cables if extra else {})


def storage(name: str, extra: Own | None = None) -> Storage:
    """The drive or storage server of that name; the user's own first. Raises WrightError `unknown-part`."""
    return _one("drive or storage server", "storage", name, storages(), extra.storage if extra else {})


def server(name: str, extra: Own | None = None) -> Server:
    """The server of that name; the user's own first. Raises WrightError `unknown-part`."""
    return _one("server", "servers", name, servers(), extra.servers if extra else {})


def _one(what: str, table: str, name: str, ours: Mapping[str, Part], own: Mapping[str, Part]) -> Part:
    found = named(own, name) or named(ours, name)
    if found is not None:
        return found
    from difflib import get_close_matches

    close = get_close_matches(slug(name), [*own, *ours], n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(f'`{each}`' for each in close)}? " if close else ""
    mend = f"{meant}All: wright plan catalog {table}; one of your own: docs/guides/own-hardware.md"
    raise WrightError.of("unknown-part", f"no {what} is called `{name}`", mend, exit_code=EXIT_USAGE)
