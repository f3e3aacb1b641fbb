"""RDMA links are up at their declared rate."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.rdma_ports import LAYER, Rdma, RdmaPort, has_rdma, rdma_ports
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import human_bit_rate


@check(
    rdma_ports,
    when=has_rdma,
    on=("deploy", "periodic", "prolog", "boot"),
    fix="run `ibstat`: state Initializing means no subnet manager; for Polling or a low rate reseat or replace the "
    "cable and check the switch port",
)
def rdma_links(spec: HostSpec, have: Rdma) -> Iterator[Verdict]:
    """Every declared rail of the compute network has an active RDMA port with at least the declared rate.

    A missing /dev/infiniband/uverbs* is a fault, too.
    """
    compute = spec.cluster.networks.compute
    if compute is None:
        return
    ports = [port for port in have.ports if port.link_layer == LAYER[compute.kind]]
    expected = _(
        "{kind} ports active at {rate}: {count} (networks.compute)",
        kind=compute.kind,
        rate=human_bit_rate(compute.rate),
        count=compute.rails,
    )
    if have.ports and have.verbs == 0:
        yield fault(
            observed=_("the host has no device file /dev/infiniband/uverbs*"),
            expected=expected,
            part="compute",
            fix=_(
                "run `modprobe ib_uverbs` on the host, which creates the device files /dev/infiniband/uverbs*"
            ),
        )
    healthy_ports = [port for port in ports if port.up and port.rate_bits_per_s >= compute.rate]
    faults = [_port_summary(port) for port in ports if port not in healthy_ports]
    enough = len(healthy_ports) >= compute.rails
    counts = _(
        "{count} of {total} RDMA ports active at this rate", count=len(healthy_ports), total=len(ports)
    )
    observed = "; ".join([counts, *([] if enough else faults)])
    yield expect(enough, observed=observed, expected=expected, part="compute")


def _port_summary(port: RdmaPort) -> str:
    return _(
        "{port} is {state}, {physical}, {rate}",
        port=port.name,
        state=port.state,
        physical=port.physical,
        rate=human_bit_rate(port.rate_bits_per_s),
    )
