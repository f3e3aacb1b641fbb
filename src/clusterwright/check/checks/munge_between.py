"""Munge works between hosts."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect
from clusterwright.check.facts.munge_credential import munge_credential
from clusterwright.check.facts.munge_decoded import munge_decoded
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


@check(
    (munge_credential, munge_decoded),
    cluster_wide=True,
    fix="Rewound, Expired: set the clock (`chronyc makestep`); else `wright apply` installs the same key everywhere",
)
def munge_between(
    _cluster: Cluster, have: Mapping[str, str], decoded: Mapping[str, dict[str, str]]
) -> list[Verdict]:
    """The control host decodes what every host encodes: one key, and clocks that agree within 5 minutes."""
    ((control, results),) = decoded.items()
    expected = _("Success when {control} decodes it", control=control)
    return [
        expect(
            results.get(host) == "Success",
            observed=results.get(host, _("not decoded")),
            expected=expected,
            subject=host,
        )
        for host in have
    ]
