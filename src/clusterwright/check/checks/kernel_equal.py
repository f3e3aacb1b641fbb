"""One kernel everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.facts.kernel import kernel
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster


@check(kernel, cluster_wide=True, fix="upgrade the kernel of the odd hosts and reboot them")
def kernel_equal(cluster: Cluster, have: Mapping[str, str]) -> list[Verdict]:
    """All hosts run the same kernel: drivers are built against it."""
    return equal_everywhere(have, cluster.control.name, "kernel", otherwise=Status.WARN)
