"""All hosts run the same kernel."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.facts.kernel import kernel
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


@check(
    kernel,
    cluster_wide=True,
    fix="install the kernel of most hosts on the deviating ones and reboot them",
    in_jobs=True,
)
def kernel_equal(cluster: Cluster, have: Mapping[str, str]) -> list[Verdict]:
    """All hosts run the same kernel release; drivers are built for one.

    A host that differs from most is a warning.
    """
    return equal_everywhere(have, cluster.control.name, _("kernel release"), otherwise=Status.WARN)
