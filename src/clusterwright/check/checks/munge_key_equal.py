"""One munge key everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.facts.munge_key import MungeKey, munge_key
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


@check(munge_key, cluster_wide=True, fix="apply the cluster file again: it puts the same key on every host")
def munge_key_equal(cluster: Cluster, have: Mapping[str, MungeKey]) -> list[Verdict]:
    """Every host has the same key, by its fingerprint."""
    prints = {host: _("key {sha256}", sha256=key.sha256[:12]) for host, key in have.items()}
    return equal_everywhere(prints, cluster.control.name, "key")
