"""The host answers over SSH."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.reading import HostReach, reached
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    reached,
    on=("deploy", "periodic"),
    fix="check that the host is up, then run `ssh -v HOST` with the same user and ssh_config",
)
def ssh(spec: HostSpec, have: HostReach) -> Verdict:
    """The host answers over SSH; without that all its other checks are unknown."""
    user = spec.cluster.ssh.user
    return expect(
        not have.error,
        observed=have.error or _("answers"),
        expected=_("an SSH session as user {user}", user=user),
    )
