"""The rails of a host: which RDMA port each is, its GID or LID, and the GPU near it; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.check.bench.parsers.perftest import RdmaPath
from clusterwright.check.facts.rdma_ports import LAYER, RdmaPort, rdma_ports
from clusterwright.config.networks import Network
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_document

GID_INDEX = "NCCL_IB_GID_INDEX"
LINK = {"infiniband": "IB", "roce": "Ethernet"}  # as perftest names them


@dataclass(frozen=True, slots=True)
class Rail:
    """One measurable port; `gid` is None on InfiniBand, `gpu` is None without GPUDirect."""

    number: int
    device: str
    port: int
    link: str
    lid: int
    gid: int | None
    gpu: int | None

    @property
    def path(self) -> RdmaPath:
        """The device and link over which a measurement on this rail must report that it ran."""
        return RdmaPath(self.device, self.link)


@dataclass(frozen=True, slots=True)
class Rails:
    """A host's measurable rails, the reasons against the others, and whether ibping may send."""

    rails: Mapping[int, Rail]
    wrong: Mapping[int, str]
    ibping: bool


def rails(report: Mapping[str, Any], declared: Network, variables: Mapping[str, str], gpus: int) -> Rails:
    """Return a host's rails, from the ports that `rdma.py` reports.

    A rail without a port, with a port that is down, or without a GID for RoCE has the reason in its place.
    """
    lids = {
        (row["device"], row["port"]): int(row["lid"] or "0", 0)
        for row in parse_document(report["ports"])["ports"]
    }
    rails_by_number: dict[int, Rail] = {}
    wrong: dict[int, str] = {}
    ports = _chosen(rdma_ports.parse(report["ports"]).ports, declared)
    for number in range(declared.rails):
        if number >= len(ports):
            wrong[number] = _(
                "this rail has no {layer} port: the host has {count} for {rails} rails",
                layer=LAYER[declared.kind],
                count=len(ports),
                rails=declared.rails,
            )
            continue
        port, gpu = ports[number], number * gpus // declared.rails if report["cuda"] and gpus else None
        gid = _gid(port, variables.get(GID_INDEX)) if declared.kind == "roce" else None
        if not port.up:
            wrong[number] = _(
                "{port} is {state}, {physical}", port=port.name, state=port.state, physical=port.physical
            )
        elif declared.kind == "roce" and gid is None:
            wrong[number] = _(
                "{port} has no IPv4 GID for RoCE v2{gid_source}",
                port=port.name,
                gid_source=_gid_source(variables),
            )
        else:
            lid = lids[port.device, str(port.port)]
            rails_by_number[number] = Rail(number, port.device, port.port, LINK[declared.kind], lid, gid, gpu)
    return Rails(rails_by_number, wrong, bool(report["ibping"]) and declared.kind == "infiniband")


def _chosen(ports: tuple[RdmaPort, ...], declared: Network) -> tuple[RdmaPort, ...]:
    """Choose as many ports as there are rails, in the kernel's order; surplus ports that are up and slow are left out.

    A port that is down counts, so that rails have the same numbers on every host.
    """
    fitting = [port for port in ports if port.link_layer == LAYER[declared.kind]]
    slow = [port.up and port.rate_bits_per_s < declared.rate for port in fitting]
    likely = sorted(range(len(fitting)), key=slow.__getitem__)[: declared.rails]
    return tuple(fitting[index] for index in sorted(likely))


def _gid(port: RdmaPort, index: str | None) -> int | None:
    """Return the GID index set for NCCL, else the port's first one of RoCE v2 on IPv4; None without such a GID."""
    fitting = (gid.index for gid in port.gids if gid.type == "RoCE v2" and gid.ipv4)
    return next((gid for gid in fitting if index in (None, str(gid))), None)


def _gid_source(variables: Mapping[str, str]) -> str:
    return (
        _(" at {name}={value} (jobs.variables)", name=GID_INDEX, value=variables[GID_INDEX])
        if GID_INDEX in variables
        else ""
    )
