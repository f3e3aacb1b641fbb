"""Munge credentials of all hosts decode on the control host."""

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
    fix="for `Rewound credential` or `Expired credential` run `chronyc makestep` on the host; otherwise run "
    "`wright apply`, which installs the same key on all hosts",
)
def munge_between(
    _cluster: Cluster, have: Mapping[str, str], decoded: Mapping[str, dict[str, str]]
) -> list[Verdict]:
    """The control host decodes a munge credential of every host: same key, and clocks within 5 minutes."""
    ((control, results),) = decoded.items()
    expected = _("munge prints `Success` when {host} decodes the credential", host=control)
    return [
        expect(
            results.get(host) == "Success",
            observed=results.get(host, _("the control host did not decode the credential")),
            expected=expected,
            subject=host,
        )
        for host in have
    ]
