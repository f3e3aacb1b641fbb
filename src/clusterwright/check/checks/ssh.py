"""The host answers over SSH."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.reading import Reach, reached
from clusterwright.check.verdict import Verdict


@check(
    reached,
    on=("deploy", "periodic"),
    mend="see whether the host is up, then `ssh -v` to it with the same user and ssh_config",
)
def ssh(want: Want, have: Reach) -> Verdict:
    """The host answers over SSH; everything else about it is unknown until it does."""
    user = want.cluster.ssh.user
    return expect(not have.error, saw=have.error or "answers", want=f"an SSH session as {user}")
