"""The RDMA links are up and as fast as declared."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import Want
from clusterwright.check.facts.rdma_ports import LAYER, Rdma, RdmaPort, has_rdma, rdma_ports
from clusterwright.check.verdict import Verdict
from clusterwright.units import format_rate

_SUBNET = "`ibstat`: INIT is a missing subnet manager, Polling a cable or a switch port"


@check(
    rdma_ports,
    when=has_rdma,
    on=("deploy", "periodic", "prolog", "boot"),
    mend=f"reseat or replace the cable; {_SUBNET}",
)
def rdma_links(want: Want, have: Rdma) -> Iterator[Verdict]:
    """Every declared rail of the compute network has a port that is up, at the declared rate at least."""
    compute = want.cluster.networks.compute
    if compute is None:
        return
    ports = [port for port in have.ports if port.link_layer == LAYER[compute.kind]]
    wanted = f"{compute.rails} {compute.kind} ports up at {format_rate(compute.rate)} (networks.compute)"
    if have.ports and have.verbs == 0:
        yield fault(
            saw="no /dev/infiniband/uverbs*",
            want=wanted,
            part="compute",
            mend="`modprobe ib_uverbs` on the host",
        )
    good = [port for port in ports if port.up and port.rate_bits_per_s >= compute.rate]
    faults = [_said(port) for port in ports if port not in good] or ["no port"]
    enough = len(good) >= compute.rails
    saw = f"{len(good)} of {len(ports)} ports are" + ("" if enough else f"; {'; '.join(faults)}")
    yield expect(enough, saw=saw, want=wanted, part="compute")


def _said(port: RdmaPort) -> str:
    return f"{port.name} is {port.state}, {port.physical}, {format_rate(port.rate_bits_per_s)}"
