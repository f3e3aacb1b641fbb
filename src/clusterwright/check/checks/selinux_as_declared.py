"""The SELinux mode is as declared."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.selinux import Selinux, selinux
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _has_none(spec: HostSpec) -> str:
    return "" if spec.cluster.platform.has_selinux else _("{os} does not use SELinux", os=spec.cluster.os)


@check(
    selinux,
    unless=unmanaged("selinux", otherwise=_has_none),
    fix="run `wright apply` and reboot the host; if SELinux was disabled, run `touch /.autorelabel` before the reboot",
)
def selinux_as_declared(spec: HostSpec, have: Selinux) -> Verdict:
    """SELinux has the declared mode, now and after the next boot; default: enforcing."""
    declared = spec.cluster.security.selinux
    observed = (
        have.now
        if have.now == have.configured
        else _(
            "SELinux is {now}, and {configured} after the next boot", now=have.now, configured=have.configured
        )
    )
    return expect(
        have.now == have.configured == declared,
        observed=observed,
        expected=_("{declared} (security.selinux)", declared=declared),
    )
