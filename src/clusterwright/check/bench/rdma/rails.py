"""The rails of a host: which RDMA port is which, by what address it is reached, and which GPU lies beside it; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.check.bench.parsers.perftest import RdmaPath
from clusterwright.check.facts.rdma_ports import LAYER, RdmaPort, rdma_ports
from clusterwright.config.networks import Network
from clusterwright.i18n import _

GID_INDEX = "NCCL_IB_GID_INDEX"
LINK = {"infiniband": "IB", "roce": "Ethernet"}  # as perftest calls them


@dataclass(frozen=True, slots=True)
class Rail:
    """One port that can be measured; `gid` is None over InfiniBand, `gpu` where GPUDirect cannot be had."""

    number: int
    device: str
    port: int
    link: str
    lid: int
    gid: int | None
    gpu: int | None

    @property
    def path(self) -> RdmaPath:
        """What a run over it must say of itself."""
        return RdmaPath(self.device, self.link)


@dataclass(frozen=True, slots=True)
class Rails:
    """What a host can be measured by, why other rails cannot be, and whether ibping may send."""

    rails: Mapping[int, Rail]
    wrong: Mapping[int, str]
    ibping: bool


def rails(report: Mapping[str, Any], declared: Network, variables: Mapping[str, str], gpus: int) -> Rails:
    """From what `programs/rdma.py` says of the ports of a host."""
    lids = {
        (row["device"], row["port"]): int(row["lid"] or "0", 0)
        for row in json.loads(report["ports"])["ports"]
    }
    rails_by_number: dict[int, Rail] = {}
    wrong: dict[int, str] = {}
    ports = _chosen(rdma_ports.parse(report["ports"]).ports, declared)
    for number in range(declared.rails):
        if number >= len(ports):
            wrong[number] = _(
                "no {layer} port; {count} of {rails} rails are present",
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
    """As many as there are rails, in the kernel's order; where there are more, those that are up and slow go first.

    A port that is down keeps its place, so the numbers of the others stay what they are on every host.
    """
    fitting = [port for port in ports if port.link_layer == LAYER[declared.kind]]
    slow = [port.up and port.rate_bits_per_s < declared.rate for port in fitting]
    likely = sorted(range(len(fitting)), key=slow.__getitem__)[: declared.rails]
    return tuple(fitting[index] for index in sorted(likely))


def _gid(port: RdmaPort, index: str | None) -> int | None:
    """The one that NCCL is told of, else the first of RoCE v2 on IPv4."""
    fitting = (gid.index for gid in port.gids if gid.type == "RoCE v2" and gid.ipv4)
    return next((gid for gid in fitting if index in (None, str(gid))), None)


def _gid_source(variables: Mapping[str, str]) -> str:
    return (
        _(" at {name}={value} (jobs.variables)", name=GID_INDEX, value=variables[GID_INDEX])
        if GID_INDEX in variables
        else ""
    )
