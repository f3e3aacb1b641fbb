"""RDMA adapters of one board have the same firmware."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.facts.rdma_ports import Rdma, has_rdma, rdma_ports
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


@check(
    rdma_ports,
    when=has_rdma,
    cluster_wide=True,
    fix="run `flint -d DEVICE query` on the host and install the vendor's release for the board on all hosts",
)
def rdma_firmware(cluster: Cluster, have: Mapping[str, Rdma]) -> Iterator[Verdict]:
    """RDMA adapters of one board type have the same firmware on every host; mixed versions differ in speed and bugs.

    A host that differs from most is a warning.
    """
    boards = sorted({port.board for rdma in have.values() for port in rdma.ports})
    for board in boards:
        versions = {
            host: ", ".join(sorted({port.firmware for port in rdma.ports if port.board == board}))
            for host, rdma in have.items()
            if any(port.board == board for port in rdma.ports)
        }
        yield from equal_everywhere(
            versions,
            cluster.control.name,
            _("firmware of {board}", board=board or _("the adapters")),
            otherwise=Status.WARN,
        )
