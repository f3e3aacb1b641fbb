"""`ibstat`, `ibstatus`, `ibv_devinfo` and `rdma link`: the state of each RDMA port."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from clusterwright.diagnose.outputs.value import Finding, Normal, Row
from clusterwright.i18n import _

_DEVICE = re.compile(r"^\s*(?:CA '(?P<ca>\S+)'|hca_id:\s*(?P<hca>\S+))")
_PORT = re.compile(r"^\s*[Pp]ort:?\s+(?P<port>\d+)\b")
_STATUS = re.compile(r"^Infiniband device '(?P<device>\S+)' port (?P<port>\d+) status")
_LINK = re.compile(
    r"^(?:\d+: )?link (?P<device>\S+?)/(?P<port>\d+) .*?\bstate (?P<state>\S+) physical_state (?P<physical>\S+)"
)
_FIELD = re.compile(r"^\s*(?P<name>[A-Za-z_][A-Za-z_ ]*):\s+(?P<value>\S.*)")
_NUMBERED = re.compile(r"^\d+: |\s*\(\d+\)$|^PORT_")
_RATE = re.compile(r"^(?P<rate>\d+(?:\.\d+)?)")
_OLD_SPEEDS = re.compile(r"\bSDR\b|\(1X\b|\(2X\b")
_POLLING, _DISABLED = ("polling", "sleep"), ("disabled",)
_UNSTEADY = ("linkerrorrecovery", "portconfigurationtraining", "training")
SDR_GBIT_S = (
    10.0  # of a link of four lanes that trained at the lowest speed; no adapter with RDMA for GPUs is as slow
)


@dataclass(frozen=True, slots=True)
class Port:
    """One port as far as the output gives it; the row is the one of its state."""

    row: Row
    device: str
    number: str
    adapter: str = ""
    state: str = ""
    physical: str = ""
    rate: str = ""
    layer: str = ""

    @property
    def name(self) -> str:
        """Return the port as the tools call it: `mlx5_0 port 1`."""
        return f"{self.device} port {self.number}"

    @property
    def gbit_s(self) -> float:
        """Return the port's rate in Gbit/s; 0 if the output has none."""
        match = _RATE.match(self.rate)
        return float(match["rate"]) if match else 0.0


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield a finding for each port that is not active or slower than the best of its kind, else a normal value.

    A port at the lowest speed is a finding, whatever the others have.
    """
    ports = [port for port in _ports(rows) if port.state]
    best_gbit_s: dict[tuple[str, str], float] = {}
    for port in filter(_is_active, ports):
        best_gbit_s[_kind(port)] = max(port.gbit_s, best_gbit_s.get(_kind(port), 0.0))
    for port in ports:
        yield _judged(port, best_gbit_s.get(_kind(port), 0.0))


def _ports(rows: Sequence[Row]) -> Iterator[Port]:
    port: Port | None = None
    device = adapter = ""
    for row in rows:
        if match := _LINK.match(row.text):
            yield Port(
                row,
                match["device"],
                match["port"],
                "",
                _state_name(match["state"]),
                _state_name(match["physical"]),
            )
        elif match := _STATUS.match(row.text) or _DEVICE.match(row.text):
            if port:
                yield port
            named = match.groupdict()
            device, adapter = named.get("device") or named.get("ca") or named.get("hca") or "", ""
            port = Port(row, device, named["port"]) if named.get("port") else None
        elif device and (match := _PORT.match(row.text)):
            if port:
                yield port
            port = Port(row, device, match["port"], adapter)
        elif match := _FIELD.match(row.text):
            if port is None and _key(match["name"]) in ("ca type", "vendor part id"):
                adapter = match["value"].rstrip()
            port = port and _with_field(port, row, _key(match["name"]), match["value"].rstrip())
    if port:
        yield port


def _key(name: str) -> str:
    return name.strip().lower().replace("_", " ")


def _with_field(port: Port, row: Row, name: str, value: str) -> Port:
    if name == "state":
        return replace(port, state=_state_name(value), row=row)
    if name in ("physical state", "phys state"):
        return replace(port, physical=_state_name(value))
    if name == "rate":
        return replace(port, rate=value)
    return replace(port, layer=value) if name == "link layer" else port


def _state_name(value: str) -> str:
    return _NUMBERED.sub("", _NUMBERED.sub("", value)).strip().lower().replace("_", "")


def _is_active(port: Port) -> bool:
    return port.state == "active"


def _kind(port: Port) -> tuple[str, str]:
    return port.adapter, port.layer.lower()


def _judged(port: Port, best_gbit_s: float) -> Finding | Normal:
    if port.state in ("init", "initializing", "initialize", "armed", "arm"):
        return Finding(port.row, f"ports: no subnet manager for {port.name}")
    if not _is_active(port):
        kind = (
            "disabled"
            if port.physical in _DISABLED
            else "unsteady"
            if port.physical in _UNSTEADY
            else "no link"
        )
        return Finding(port.row, f"ports: {kind} on {port.name}, {_layer(port)}")
    if port.rate and port.gbit_s < best_gbit_s:
        return Finding(
            port.row, f"ports: {port.name} runs at {port.rate}, another of its kind at {best_gbit_s:g}"
        )
    if port.rate and (_OLD_SPEEDS.search(port.rate) or port.gbit_s <= SDR_GBIT_S):
        return Finding(port.row, f"ports: {port.name} runs at {port.rate}, the lowest speed")
    return Normal(port.row, _normal(port))


def _layer(port: Port) -> str:
    return "Ethernet" if port.layer.lower() == "ethernet" else "InfiniBand"


def _normal(port: Port) -> str:
    if not port.rate:
        return _("{port} is active: normal.", port=port.name)
    rate = port.rate if "/" in port.rate else f"{port.rate} Gbit/s"
    return _("{port} is active at {rate}: normal.", port=port.name, rate=rate)
