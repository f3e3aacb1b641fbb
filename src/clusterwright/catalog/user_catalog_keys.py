"""The keys of each kind of section in a user's catalog file, and the parser of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from clusterwright.catalog import parts, quantities
from clusterwright.catalog.gpus import gpu
from clusterwright.catalog.models import architecture
from clusterwright.catalog.records import Architecture, Cable, Gpu, Nic, Server, Storage, Switch

_OF_TYPE: Mapping[str, Callable[[Any], Any]] = {
    "int": quantities.integer, "bool": quantities.flag, "str": quantities.text,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section: the field it sets, its parser, and whether it is required."""

    fills: str
    read: Callable[[Any], Any]
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of section."""

    make: Callable[..., Any]
    keys: Mapping[str, Key]
    ours: Callable[[str], Any]  # finds the built-in row that `like` names


def _unitless_keys(kind: type, skip: tuple[str, ...], **extra_keys: Key) -> dict[str, Key]:
    """Return keys for a dataclass's fields of type int, bool and str, and the extra keys; `skip` names others."""
    keys = {
        dataclass_field.name: Key(
            dataclass_field.name, _OF_TYPE[str(dataclass_field.type)], dataclass_field.default is MISSING
        )
        for dataclass_field in fields(kind)
        if dataclass_field.name not in {"name", *skip} and str(dataclass_field.type) in _OF_TYPE
    }
    return keys | extra_keys


_POWER, _SOURCE = Key("power_w", quantities.power), Key("source", quantities.text)
TABLES: Mapping[str, Table] = {
    "gpus": Table(Gpu, _unitless_keys(
        Gpu, ("pcie_gen",), power=_POWER, pcie=Key("pcie_gen", quantities.integer),
        peak=Key("peak", quantities.rates, needed=True), achieved=Key("achieved", quantities.rates),
        memory=Key("memory_bytes", quantities.size, needed=True), usable=Key("usable_bytes", quantities.size),
        bandwidth=Key("memory_bytes_per_s", quantities.byte_rate, needed=True),
        link=Key("link_bytes_per_s", quantities.byte_rate),
    ), gpu),
    "models": Table(Architecture, _unitless_keys(Architecture, ()), architecture),
    "nics": Table(Nic, _unitless_keys(
        Nic, ("pcie_gen",), power=_POWER, pcie=Key("pcie_gen", quantities.integer),
        protocols=Key("protocols", quantities.texts, needed=True),
        rate=Key("port_bits_per_s", quantities.bit_rate, needed=True),
    ), parts.nic),
    "switches": Table(Switch, _unitless_keys(
        Switch, (), power=_POWER, rate=Key("port_bits_per_s", quantities.bit_rate, needed=True),
        latency=Key("latency_s", quantities.seconds),
    ), parts.switch),
    "cables": Table(Cable, _unitless_keys(
        Cable, (), rate=Key("bits_per_s", quantities.bit_rate, needed=True),
        reach=Key("reach_m", quantities.metres, needed=True), end_power=Key("end_power_w", quantities.power),
    ), parts.cable),
    "storage": Table(Storage, _unitless_keys(
        Storage, (), power=_POWER, read=Key("read_bytes_per_s", quantities.byte_rate, needed=True),
        write=Key("write_bytes_per_s", quantities.byte_rate, needed=True),
        read_iops=Key("read_iops", quantities.integer), latency=Key("latency_s", quantities.seconds),
        capacity=Key("capacity_bytes", quantities.size),
    ), parts.storage),
    "servers": Table(Server, _unitless_keys(
        Server, (), memory=Key("memory_bytes", quantities.size, needed=True),
        power=Key("power_w", quantities.power, needed=True),
    ), parts.server),
}  # fmt: skip
PRICE_KEYS = {
    "low": Key("low", quantities.money), "likely": Key("likely", quantities.money, needed=True),
    "high": Key("high", quantities.money), "date": Key("date", quantities.day, needed=True),
    "source": _SOURCE,
}  # fmt: skip
