"""The host answers over SSH."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.reading import Reach, reached
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    reached,
    on=("deploy", "periodic"),
    fix="see whether the host is up, then `ssh -v` to it with the same user and ssh_config",
)
def ssh(spec: HostSpec, have: Reach) -> Verdict:
    """The host answers over SSH; everything else about it is unknown until it does."""
    user = spec.cluster.ssh.user
    return expect(
        not have.error, observed=have.error or "answers", expected=_("an SSH session as {user}", user=user)
    )
