"""The RDMA links are up and as fast as declared."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.rdma_ports import LAYER, Rdma, RdmaPort, has_rdma, rdma_ports
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import format_rate

_SUBNET = N_("`ibstat`: INIT is a missing subnet manager, Polling a cable or a switch port")


@check(
    rdma_ports,
    when=has_rdma,
    on=("deploy", "periodic", "prolog", "boot"),
    fix=f"reseat or replace the cable; {_SUBNET}",
)
def rdma_links(spec: HostSpec, have: Rdma) -> Iterator[Verdict]:
    """Every declared rail of the compute network has a port that is up, at the declared rate at least."""
    compute = spec.cluster.networks.compute
    if compute is None:
        return
    ports = [port for port in have.ports if port.link_layer == LAYER[compute.kind]]
    expected = _(
        "{rails} {kind} ports up at {rate} (networks.compute)",
        rails=compute.rails,
        kind=compute.kind,
        rate=format_rate(compute.rate),
    )
    if have.ports and have.verbs == 0:
        yield fault(
            observed="no /dev/infiniband/uverbs*",
            expected=expected,
            part="compute",
            fix=_("`modprobe ib_uverbs` on the host"),
        )
    healthy_ports = [port for port in ports if port.up and port.rate_bits_per_s >= compute.rate]
    faults = [_port_summary(port) for port in ports if port not in healthy_ports] or ["no port"]
    enough = len(healthy_ports) >= compute.rails
    observed = _("{count} of {count2} ports are", count=len(healthy_ports), count2=len(ports)) + (
        "" if enough else f"; {'; '.join(faults)}"
    )
    yield expect(enough, observed=observed, expected=expected, part="compute")


def _port_summary(port: RdmaPort) -> str:
    return _(
        "{port} is {state}, {physical}, {rate}",
        port=port.name,
        state=port.state,
        physical=port.physical,
        rate=format_rate(port.rate_bits_per_s),
    )
