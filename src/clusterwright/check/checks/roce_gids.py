"""RoCE ports have the GID that NCCL uses."""

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
    fix="run `show_gids` on the host; set the IPv4 address of the port's interface, or correct NCCL_IB_GID_INDEX in "
    "jobs.variables",
)
def roce_gids(spec: HostSpec, have: Rdma) -> Iterator[Verdict]:
    """Every active RoCE port has a RoCE v2 GID with IPv4, at NCCL_IB_GID_INDEX where that is set.

    Without one NCCL uses another GID, and its first message fails with a timeout (status 12).
    """
    index = spec.cluster.jobs.variables.get(_INDEX)
    expected = (
        _("a RoCE v2 GID with IPv4 at {variable}={index} (jobs.variables)", variable=_INDEX, index=index)
        if index
        else _("a RoCE v2 GID with IPv4")
    )
    for port in have.ports:
        if port.up and port.link_layer == "Ethernet":
            observed = f"{port.name}: {', '.join(_gid_text(gid) for gid in port.gids) or _('no GID')}"
            yield expect(_has_gid(port, index), observed=observed, expected=expected, part="compute")


def _has_gid(port: RdmaPort, index: str | None) -> bool:
    return any(gid.type == _V2 and gid.ipv4 and index in (None, str(gid.index)) for gid in port.gids)


def _gid_text(gid: Gid) -> str:
    return f"{gid.index} {gid.type} {gid.ipv4 or _('no IPv4')}"
