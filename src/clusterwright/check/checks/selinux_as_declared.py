"""SELinux is on."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.selinux import Selinux, selinux
from clusterwright.check.verdict import Verdict


def _has_none(want: Want) -> str:
    return "" if want.cluster.platform.has_selinux else f"{want.cluster.os} has no SELinux of its own"


@check(
    selinux,
    unless=_has_none,
    mend="apply the cluster file and reboot; a host where it was disabled labels its files anew first "
    "(touch /.autorelabel)",
)
def selinux_as_declared(want: Want, have: Selinux) -> Verdict:
    """SELinux is enforcing, now and after the next boot, unless the file says permissive."""
    declared = want.cluster.security.selinux
    saw = have.now if have.now == have.configured else f"{have.now}, {have.configured} after the next boot"
    return expect(have.now == have.configured == declared, saw=saw, want=f"{declared} (security.selinux)")
