"""The transports for gradients, the settings that force each, and the check that it was used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterwright.check.bench.parsers.trained import Trained
from clusterwright.check.bench.site import BenchSite
from clusterwright.i18n import _

MIN_TRAFFIC_SHARE = 0.5  # share of the gradients' bytes that the interface must have sent at least


@dataclass(frozen=True, slots=True)
class Route:
    """A transport, NCCL's settings that force it, and what its log must then show (`gdr` None: either)."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    net: str = ""
    gdr: bool | None = None


SINGLE_HOST = Route("-")
GLOO = Route("tcp")
# NCCL's guide, environment variables: at LOC GPUDirect RDMA is never used, at SYS it always is.
TCP = Route("tcp", {"NCCL_IB_DISABLE": "1"}, "NET/Socket")
RDMA = Route("rdma", {"NCCL_NET_GDR_LEVEL": "LOC"}, "NET/IB", gdr=False)
GPUDIRECT = Route("gpudirect", {"NCCL_NET_GDR_LEVEL": "SYS"}, "NET/IB", gdr=True)


def routes(site: BenchSite, backend: str) -> tuple[Route, ...]:
    """Return the transports to measure: TCP; RDMA and GPUDirect too if every host has an InfiniBand or RoCE port.

    Without NCCL only Gloo's TCP.
    """
    if backend != "nccl":
        return (GLOO,)
    ports = all(site.facts[host]["versions"].get("firmware") for host in site.stage.hosts)
    return (TCP, RDMA, GPUDIRECT) if ports else (TCP,)


def strayed(route: Route, group: Trained) -> str:
    """Return which other transport NCCL used, or which hosts avoided the measured interface; empty if the route held.

    Empty, too, for a group of one host.
    """
    if len(group.hosts) < 2:
        return ""
    if route.net:
        transport = group.transport
        is_match = transport.net == route.net and route.gdr in (None, transport.gdr)
        return (
            ""
            if is_match
            else _("NCCL used {transport}", transport=transport or "nothing that its log tells of")
        )
    least = MIN_TRAFFIC_SHARE * group.bus_bytes * len(group.step_times)
    stray_hosts = [host for host, byte_count in group.sent_bytes.items() if byte_count < least]
    return (
        _("{hosts} did not use the interface of the measured network", hosts=", ".join(stray_hosts))
        if stray_hosts
        else ""
    )
