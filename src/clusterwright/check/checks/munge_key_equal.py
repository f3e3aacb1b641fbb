"""All hosts have the same munge key."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.facts.munge_key import MungeKey, munge_key
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


@check(munge_key, cluster_wide=True, fix="run `wright apply`: it installs the same munge key on every host")
def munge_key_equal(cluster: Cluster, have: Mapping[str, MungeKey]) -> list[Verdict]:
    """Every host has the same munge key, compared by SHA-256."""
    prints = {
        host: _("munge key with SHA-256 {digest}", digest=key.sha256[:12]) for host, key in have.items()
    }
    return equal_everywhere(prints, cluster.control.name, _("munge key"))
