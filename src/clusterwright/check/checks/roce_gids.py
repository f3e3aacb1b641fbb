"""RoCE ports have the address that NCCL will use."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.rdma_ports import Gid, Rdma, RdmaPort, rdma_ports
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

_V2 = "RoCE v2"
_INDEX = "NCCL_IB_GID_INDEX"


def _has_roce(spec: HostSpec) -> bool:
    compute = spec.cluster.networks.compute
    return compute is not None and compute.kind == "roce" and "compute" in spec.host.addresses


@check(
    rdma_ports,
    when=_has_roce,
    fix=f"`show_gids` on the host: give the port's interface its IPv4 address, or correct {_INDEX} in jobs.variables",
)
def roce_gids(spec: HostSpec, have: Rdma) -> Iterator[Verdict]:
    """Every RoCE port that is up has a GID of version 2 on IPv4, at NCCL_IB_GID_INDEX where that is set.

    Without one NCCL takes what is at its index, and its first message ends in a time-out (status 12).
    """
    index = spec.cluster.jobs.variables.get(_INDEX)
    index_note = _(" at {index}={index2} (jobs.variables)", index=_INDEX, index2=index) if index else ""
    for port in have.ports:
        if port.up and port.link_layer == "Ethernet":
            observed = f"{port.name}: {', '.join(_gid_text(gid) for gid in port.gids) or 'no GID'}"
            expected = _("{v2} on IPv4{index_note}", v2=_V2, index_note=index_note)
            yield expect(_has_gid(port, index), observed=observed, expected=expected, part="compute")


def _has_gid(port: RdmaPort, index: str | None) -> bool:
    return any(gid.type == _V2 and gid.ipv4 and index in (None, str(gid.index)) for gid in port.gids)


def _gid_text(gid: Gid) -> str:
    return f"{gid.index} {gid.type} {gid.ipv4 or 'no IPv4'}"
